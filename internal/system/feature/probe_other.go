//go:build !linux

package feature

func probeTHP() error           { return ErrNotSupported }
func probeHugeTLB() error       { return ErrNotSupported }
func probeFree() error          { return ErrNotSupported }
func probeCold() error          { return ErrNotSupported }
func probePageOut() error       { return ErrNotSupported }
func probePopulateWrite() error { return ErrNotSupported }
func probeCollapse() error      { return ErrNotSupported }
func probePagemapScan() error   { return ErrNotSupported }
func probeAnonName() error      { return ErrNotSupported }
func probeTHPSizes() error      { return ErrNotSupported }
