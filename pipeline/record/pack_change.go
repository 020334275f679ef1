package record

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// ErrPacked is the error of bytes that [AppendPacked] did not write.
var ErrPacked = errs.New("packed changes are broken")

// AppendPacked appends the bytes from which [Unpacker.Unpack] makes an equal change. It writes the raw record, then
// each field of the change. If a text or an image is a range of the raw record, AppendPacked writes only the range. The
// record alone is not enough, because sources also make changes without a record.
func AppendPacked(dst []byte, c *Change) []byte {
	p := packWriter{dst: appendPart(dst, c.Raw), raw: c.Raw}
	op := byte(c.Op)
	if c.Backfill {
		op |= packedBackfill
	}
	p.dst = append(p.dst, op, byte(c.ViewType))
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
	for _, text := range changeTexts(c) {
		p.writeRange(unsafe.Slice(unsafe.StringData(*text), len(*text)))
	}
	for _, image := range []*item.Image{&c.Keys, &c.Old, &c.New} {
		if !image.Exists() {
			p.dst = append(p.dst, 0)
			continue
		}
		p.dst = append(p.dst, 1)
		p.writeRange(image.Bytes())
	}
	return p.dst
}

// packedBackfill is a bit in the operation of a packed change. It is set if the change has Backfill.
const packedBackfill = 0x80

// changeTexts returns pointers to the texts of a change.
func changeTexts(c *Change) [11]*string {
	return [...]*string{
		&c.EventName, (*string)(&c.Key), &c.Version.sequence, &c.Sequence, &c.EventID, &c.StreamARN, &c.Table,
		&c.Region, &c.Shard, &c.Identity.Type, &c.Identity.PrincipalID,
	}
}

// packWriter writes the parts of a change.
type packWriter struct {
	dst []byte
	raw []byte // the record
}

func (p *packWriter) number(n uint64) { p.dst = binary.AppendUvarint(p.dst, n) }

// writeRange writes the range that b has in the record: its start plus 1, and its length. If b is not in the record,
// writeRange writes 0 and then b itself.
func (p *packWriter) writeRange(b []byte) {
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

// packReader reads the bytes that packWriter wrote. The results of its methods refer to b.
type packReader struct {
	b       []byte
	raw     []byte // the record
	invalid bool   // packWriter did not write b
}

func (u *packReader) number() uint64 {
	n, size := binary.Uvarint(u.b)
	if size <= 0 {
		u.invalid = true
		return 0
	}
	u.b = u.b[size:]
	return n
}

func (u *packReader) take(n uint64) []byte {
	if n > uint64(len(u.b)) {
		u.invalid = true
		return nil
	}
	taken := u.b[:n:n]
	u.b = u.b[n:]
	return taken
}

func (u *packReader) octet() byte {
	if b := u.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (u *packReader) readRange() []byte {
	start := u.number()
	n := u.number()
	if start == 0 {
		return u.take(n)
	}
	if start--; start > uint64(len(u.raw)) || n > uint64(len(u.raw))-start {
		u.invalid = true
		return nil
	}
	return u.raw[start : start+n : start+n]
}

// Unpacker reads packed changes. It reuses its memory for each change.
type Unpacker struct{ scan ddbjson.Scanner }

// Unpack reads a change from the front of b, and returns the rest of b. The change refers to b.
func (r *Unpacker) Unpack(b []byte, c *Change) (rest []byte, err error) {
	u := packReader{b: b}
	u.raw = u.take(u.number())
	op := u.octet()
	*c = Change{Raw: u.raw, Op: Operation(op &^ packedBackfill), Backfill: op&packedBackfill != 0,
		ViewType: ViewType(u.octet())}
	c.Index = int32(uint32(u.number()))
	c.SizeBytes = int64(u.number())
	c.Version.epoch = u.number()
	if u.number() == 1 {
		sec, nsec := u.number(), u.number()
		c.Time = time.Unix(int64(sec), int64(nsec)).UTC()
	}
	for _, text := range changeTexts(c) {
		*text = ddbjson.View(u.readRange())
	}
	for _, image := range []*item.Image{&c.Keys, &c.Old, &c.New} {
		if u.octet() == 0 {
			continue
		}
		s := &r.scan
		s.Input, s.AllowEmptyMaps = u.readRange(), true
		start := s.SkipSpace(0)
		attrs, next := s.Item(start, nil, nil)
		if next < 0 || u.invalid {
			return nil, ErrPacked
		}
		*image = item.Indexed(s.Input[start:next], attrs)
	}
	if u.invalid {
		return nil, ErrPacked
	}
	return u.b, nil
}
