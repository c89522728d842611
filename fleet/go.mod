module github.com/foliomem/folio/fleet

go 1.26.0

require (
	github.com/foliomem/folio v0.0.0
	github.com/spf13/cobra v1.10.2
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
)

replace github.com/foliomem/folio => ../
