// Package release tests what users get who install a version: the modules as the module proxy
// would hand them out, without go.work, which is the repository's own.
package release
