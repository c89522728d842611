module github.com/foliomem/folio/cmd/bench/server/api

go 1.26.0

require (
	github.com/KimMachineGun/automemlimit v1.0.1
	github.com/foliomem/folio v0.0.0
)

require (
	github.com/pbnjay/memory v0.0.0-20210728143218-7b4eea64cf58 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/foliomem/folio => ../../../..
