package record

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// ErrPacked means that bytes are not what appendPacked wrote.
var ErrPacked = errs.New("packed changes are broken")

// AppendPacked appends a change, of which [Unpacker.Unpack] makes the same change again: its raw
// record, then each part, as a range of the record if it is one. The record alone is not
// enough: sources also make changes without a record.
func AppendPacked(dst []byte, c *Change) []byte {
	p := packer{dst: appendPart(dst, c.Raw), raw: c.Raw}
	p.dst = append(p.dst, byte(c.Op), byte(c.ViewType))
	p.number(uint64(uint32(c.Index)))
	p.number(uint64(c.SizeBytes))
	p.number(c.Version.epoch)
	if c.Time.IsZero() {
		p.number(0)
	} else {
		p.number(1)
		p.number(uint64(c.Time.Unix()))
		p.number(uint64(c.Time.Nanosecond()))
	}
	for _, text := range packedTexts(c) {
		p.part(unsafe.Slice(unsafe.StringData(*text), len(*text)))
	}
	for _, image := range []*item.Image{&c.Keys, &c.Old, &c.New} {
		if !image.Exists() {
			p.dst = append(p.dst, 0)
			continue
		}
		p.dst = append(p.dst, 1)
		p.part(image.Bytes())
	}
	return p.dst
}

// packedTexts are the texts of a change, beside its record and its images.
func packedTexts(c *Change) [11]*string {
	return [...]*string{
		&c.EventName, (*string)(&c.Key), &c.Version.sequence, &c.Sequence, &c.EventID, &c.StreamARN, &c.Table,
		&c.Region, &c.Shard, &c.Identity.Type, &c.Identity.PrincipalID,
	}
}

// packer writes the parts of a change.
type packer struct {
	dst []byte
	raw []byte // the record
}

func (p *packer) number(n uint64) { p.dst = binary.AppendUvarint(p.dst, n) }

// part writes the range of b in the record, or b itself if it is not in the record.
func (p *packer) part(b []byte) {
	if len(b) > 0 && len(p.raw) > 0 {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(p.raw)))
		if n := uintptr(len(p.raw)); start < n && uintptr(len(b)) <= n-start {
			p.number(uint64(start) + 1)
			p.number(uint64(len(b)))
			return
		}
	}
	p.number(0)
	p.dst = appendPart(p.dst, b)
}

func appendPart(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// partReader reads what packer wrote. All that it returns refers to b.
type partReader struct {
	b   []byte
	raw []byte
	bad bool
}

func (u *partReader) number() uint64 {
	n, size := binary.Uvarint(u.b)
	if size <= 0 {
		u.bad = true
		return 0
	}
	u.b = u.b[size:]
	return n
}

func (u *partReader) take(n uint64) []byte {
	if n > uint64(len(u.b)) {
		u.bad = true
		return nil
	}
	taken := u.b[:n:n]
	u.b = u.b[n:]
	return taken
}

func (u *partReader) octet() byte {
	if b := u.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (u *partReader) part() []byte {
	start := u.number()
	n := u.number()
	if start == 0 {
		return u.take(n)
	}
	if start--; start > uint64(len(u.raw)) || n > uint64(len(u.raw))-start {
		u.bad = true
		return nil
	}
	return u.raw[start : start+n : start+n]
}

// Unpacker reads packed changes. Its memory is used again for each of them.
type Unpacker struct{ scan ddbjson.Scanner }

// Unpack reads a change from the front of b, and returns the rest of b. The change refers to b.
func (r *Unpacker) Unpack(b []byte, c *Change) (rest []byte, err error) {
	u := partReader{b: b}
	u.raw = u.take(u.number())
	*c = Change{Raw: u.raw, Op: Operation(u.octet()), ViewType: ViewType(u.octet())}
	c.Index = int32(uint32(u.number()))
	c.SizeBytes = int64(u.number())
	c.Version.epoch = u.number()
	if u.number() == 1 {
		sec, nsec := u.number(), u.number()
		c.Time = time.Unix(int64(sec), int64(nsec)).UTC()
	}
	for _, text := range packedTexts(c) {
		*text = ddbjson.View(u.part())
	}
	for _, image := range []*item.Image{&c.Keys, &c.Old, &c.New} {
		if u.octet() == 0 {
			continue
		}
		s := &r.scan
		s.B, s.EmptyMaps = u.part(), true
		start := s.Space(0)
		as, next := s.Item(start, nil, nil)
		if next < 0 || u.bad {
			return nil, ErrPacked
		}
		*image = item.Indexed(s.B[start:next], as)
	}
	if u.bad {
		return nil, ErrPacked
	}
	return u.b, nil
}
