package mapping

import "github.com/foliomem/folio/page"

type ring struct {
	m    *page.Mapping
	data []byte
}

var kept []byte

func after() error {
	m, err := page.Map(1<<20, nil)
	if err != nil {
		return err
	}
	b := m.Bytes()
	b[0] = 1
	if err := m.Close(); err != nil {
		return err
	}
	b[0] = 2 // want `bytes of the mapping are used after Close in line 19`
	return m.Close()
}

func returned() ([]byte, error) {
	m, err := page.Map(1<<20, nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.Bytes(), nil // want `bytes of the mapping are returned, but the deferred Close in line 31 unmaps them`
}

func toGlobal() {
	m, _ := page.Map(1<<20, nil)
	defer m.Close()
	kept = m.Bytes()[10:20] // want `bytes of the mapping are kept outside of the function`
}

func itself() []byte {
	m, _ := page.Map(1<<20, nil)
	m.Close()
	return m.Bytes() // want `the mapping is used after Close` `bytes of the mapping are returned, but Close`
}

func copied() []byte {
	m, err := page.Map(1<<20, nil)
	if err != nil {
		return nil
	}
	defer m.Close()
	return append([]byte(nil), m.Bytes()...)
}

func newRing() (*ring, error) {
	m, err := page.Map(1<<20, nil)
	if err != nil {
		return nil, err
	}
	return &ring{m, m.Bytes()}, nil
}

func (r *ring) Close() error { return r.m.Close() }

func owned() byte {
	r, err := newRing()
	if err != nil {
		return 0
	}
	defer r.Close()
	return r.data[0]
}
