//go:build !foliodebug

package arena

const debugBuild = false
