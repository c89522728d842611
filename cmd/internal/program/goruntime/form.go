package goruntime

import (
	"bytes"
	"encoding/binary"
)

// cursor reads DWARF. Reading beyond the end gives zeros, and sets bad.
type cursor struct {
	order    binary.ByteOrder
	data     []byte
	off, end int
	bad      bool
}

func (d *debugInfo) cursor(off, end int) cursor {
	return cursor{order: d.order, data: d.data, off: off, end: end}
}

// take returns the next n bytes.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(c.end-c.off) {
		c.off, c.bad = c.end, true
		return nil
	}
	b := c.data[c.off : c.off+int(n)]
	c.off += int(n)
	return b
}

// uint reads a number of 1, 2, 3, 4 or 8 bytes.
func (c *cursor) uint(n int) uint64 {
	b := c.take(uint64(n))
	if b == nil {
		return 0
	}
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(c.order.Uint16(b))
	case 3: // of strings that have a number; nobody asks for it
		return 0
	case 4:
		return uint64(c.order.Uint32(b))
	}
	return c.order.Uint64(b)
}

func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		b := c.uint(1)
		if shift < 64 {
			v |= (b & 0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := 0; ; {
		b := c.uint(1)
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// Forms of attributes, see chapter 7.5.6 of the standard.
const (
	formAddr, formBlock2, formBlock4, formData2, formData4, formData8, formString = 0x01, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08
	formBlock, formBlock1, formData1, formFlag, formSdata, formStrp, formUdata    = 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f
	formRefAddr, formRef1, formRef2, formRef4, formRef8, formRefUdata             = 0x10, 0x11, 0x12, 0x13, 0x14, 0x15
	formIndirect, formSecOffset, formExprloc, formFlagPresent                     = 0x16, 0x17, 0x18, 0x19
	formStrx, formAddrx, formRefSup4, formStrpSup, formData16, formLineStrp       = 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f
	formRefSig8, formImplicitConst, formLoclistx, formRnglistx, formRefSup8       = 0x20, 0x21, 0x22, 0x23, 0x24
	formStrx1, formStrx4, formAddrx1, formAddrx4                                  = 0x25, 0x28, 0x29, 0x2c
	formGNUAddr, formGNUStr, formGNURefAlt, formGNUStrpAlt                        = 0x1f01, 0x1f02, 0x1f20, 0x1f21
)

// attribute reads an attribute, and keeps it if it is needed.
func (c *cursor) attribute(u unit, a attribute, e *entry) {
	v, text := c.value(u, a)
	switch a.name {
	case attrName:
		e.name = text
	case attrType:
		e.typ = v
	case attrMember:
		e.member = v
	case attrSize:
		e.size = v
	case attrEncoding:
		e.encoding = v
	}
}

// value reads a value: a number, an offset in .debug_info, or a string that stands
// there itself, as Go's do. Others are passed over.
func (c *cursor) value(u unit, a attribute) (v uint64, text []byte) {
	form := a.form
	if form == formIndirect {
		form = uint32(c.uleb())
	}
	switch form {
	case formFlagPresent:
		return 1, nil
	case formImplicitConst:
		return uint64(a.constant), nil
	case formString:
		end := bytes.IndexByte(c.data[c.off:c.end], 0)
		if end < 0 {
			c.bad = true
			return 0, nil
		}
		text = c.take(uint64(end))
		c.off++
		return 0, text
	case formData1, formFlag, formStrx1, formAddrx1:
		return c.uint(1), nil
	case formData2, formStrx1 + 1, formAddrx1 + 1:
		return c.uint(2), nil
	case formStrx1 + 2, formAddrx1 + 2:
		return c.uint(3), nil
	case formData4, formStrx4, formAddrx4, formRefSup4:
		return c.uint(4), nil
	case formData8, formRefSig8, formRefSup8:
		return c.uint(8), nil
	case formData16:
		c.take(16)
	case formSdata:
		return uint64(c.sleb()), nil
	case formUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddr, formGNUStr:
		return c.uleb(), nil
	case formAddr:
		return c.uint(u.address), nil
	case formStrp, formSecOffset, formStrpSup, formLineStrp, formGNURefAlt, formGNUStrpAlt:
		return c.uint(u.offset), nil
	case formRefAddr:
		if u.version == 2 {
			return c.uint(u.address), nil
		}
		return c.uint(u.offset), nil
	case formRef1:
		return uint64(u.at) + c.uint(1), nil
	case formRef2:
		return uint64(u.at) + c.uint(2), nil
	case formRef4:
		return uint64(u.at) + c.uint(4), nil
	case formRef8:
		return uint64(u.at) + c.uint(8), nil
	case formRefUdata:
		return uint64(u.at) + c.uleb(), nil
	case formBlock1:
		c.take(c.uint(1))
	case formBlock2:
		c.take(c.uint(2))
	case formBlock4:
		c.take(c.uint(4))
	case formBlock, formExprloc:
		c.take(c.uleb())
	default:
		c.bad = true // nobody knows how long it is
	}
	return 0, nil
}
