package callsite

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/internal/base/input"
)

// Parse reads a profile in pprof's format that may have been made to harm: a few KiB can
// unpack to gigabytes, and each message of two bytes becomes an object of hundreds.
func Parse(r io.Reader) (*profile.Profile, error) {
	data, err := input.ReadAll(r, "the profile", input.MaxProfile)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = input.ReadAll(z, "the profile, unpacked,", input.MaxProfile)
		}
		if err != nil {
			return nil, err
		}
	}
	if cost := memory(data); cost > input.MaxProfileMemory {
		return nil, &input.TooLargeError{What: "the profile, in memory,", Most: input.MaxProfileMemory}
	}
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, ErrNotProfile
	}
	return p, nil
}

// ErrNotProfile is the error for a file in another format.
var ErrNotProfile = errors.New("not a pprof profile")

// What the parts of a profile take when they are read, in bytes, with what is
// needed for a while and room for slices to grow. From package profile.
const (
	messageCost = 320 // a sample, a location, a function, a mapping, a string
	numberCost  = 40  // of a sample's locations and values
	lineCost    = 120 // of a location
	labelCost   = 400 // of a sample
	labelsCost  = 800 // of a sample that has any
)

// Fields of the messages of a profile, see proto/profile.proto of pprof.
const (
	fieldSample, fieldLocation = 2, 4
	fieldLabel, fieldLine      = 3, 4
)

// memory estimates from above what a profile takes when it is read. What cannot be
// read costs nothing more, as it ends the reading.
func memory(data []byte) (cost int64) {
	_ = fields(data, func(field int, value []byte) {
		cost += messageCost + int64(len(value))
		switch field {
		case fieldSample:
			labels := false
			_ = fields(value, func(field int, value []byte) {
				if field == fieldLabel {
					labels = true
					cost += labelCost
				} else {
					cost += numberCost * int64(max(1, varints(value)))
				}
			})
			if labels {
				cost += labelsCost
			}
		case fieldLocation:
			_ = fields(value, func(field int, _ []byte) {
				if field == fieldLine {
					cost += lineCost
				}
			})
		}
	})
	return cost
}

var errProtobuf = errors.New("not a message")

// fields calls visit with the fields of a message; value is nil for numbers.
func fields(data []byte, visit func(field int, value []byte)) error {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return errProtobuf
		}
		data = data[n:]
		var value []byte
		var size uint64
		switch tag & 7 {
		case 0:
			if _, n = binary.Uvarint(data); n <= 0 {
				return errProtobuf
			}
			size = uint64(n)
		case 1:
			size = 8
		case 2:
			if size, n = binary.Uvarint(data); n <= 0 {
				return errProtobuf
			}
			data = data[n:]
			if size <= uint64(len(data)) {
				value = data[:size]
			}
		case 5:
			size = 4
		default:
			return errProtobuf
		}
		if size > uint64(len(data)) {
			return errProtobuf
		}
		data = data[size:]
		visit(int(tag>>3), value)
	}
	return nil
}

// varints counts the numbers in a packed list.
func varints(data []byte) (n int) {
	for _, b := range data {
		if b < 0x80 {
			n++
		}
	}
	return n
}
