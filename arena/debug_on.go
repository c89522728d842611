//go:build foliodebug

package arena

const debugBuild = true
