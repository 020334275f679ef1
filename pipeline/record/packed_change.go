package record

import (
	"encoding/binary"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// ErrPacked is the error of bytes that [AppendPacked] did not write.
var ErrPacked = errs.New("packed changes are broken")

// AppendPacked appends the bytes from which [Unpacker.Unpack] makes an equal change. It writes the raw record, then
// each field of the change. If a text or an image is a range of the raw record, AppendPacked writes only the range. The
// record alone is not enough, because sources also make changes without a record.
func AppendPacked(dst []byte, c *Change) []byte {
	w := packWriter{dst: appendPart(dst, c.Raw), raw: c.Raw}
	op := byte(c.Op)
	if c.Backfill {
		op |= packedBackfill
	}
	w.dst = append(w.dst, op, byte(c.ViewType))
	w.number(uint64(uint32(c.Index)))
	w.number(uint64(c.SizeBytes))
	w.number(c.Version.epoch)
	if c.Time.IsZero() {
		w.number(0)
	} else {
		w.number(1)
		w.number(uint64(c.Time.Unix()))
		w.number(uint64(c.Time.Nanosecond()))
	}
	for _, text := range changeTexts(c) {
		w.writeRange(ddbjson.Bytes(*text))
	}
	for _, image := range []*item.Image{&c.Keys, &c.Old, &c.New} {
		if !image.Exists() {
			w.dst = append(w.dst, 0)
			continue
		}
		w.dst = append(w.dst, 1)
		w.writeRange(image.Bytes())
	}
	return w.dst
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

func (w *packWriter) number(n uint64) { w.dst = binary.AppendUvarint(w.dst, n) }

// writeRange writes the range that b has in the record: its start plus 1, and its length. If b is not in the record,
// writeRange writes 0 and then b itself.
func (w *packWriter) writeRange(b []byte) {
	start, ok := rangeStart(w.raw, b)
	if !ok {
		w.number(0)
		w.dst = appendPart(w.dst, b)
		return
	}
	w.number(uint64(start) + 1)
	w.number(uint64(len(b)))
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

func (r *packReader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.invalid = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *packReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.invalid = true
		return nil
	}
	taken := r.b[:n:n]
	r.b = r.b[n:]
	return taken
}

func (r *packReader) byte1() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// readRange reads what writeRange wrote.
func (r *packReader) readRange() []byte {
	startPlus1 := r.number()
	n := r.number()
	if startPlus1 == 0 {
		return r.take(n)
	}
	start := startPlus1 - 1
	if start > uint64(len(r.raw)) || n > uint64(len(r.raw))-start {
		r.invalid = true
		return nil
	}
	return r.raw[start : start+n : start+n]
}

// Unpacker reads packed changes. It reuses its memory for each change.
type Unpacker struct{ scan ddbjson.Scanner }

// Unpack reads a change from the front of b, and returns the rest of b. The change refers to b.
func (u *Unpacker) Unpack(b []byte, c *Change) (rest []byte, err error) {
	r := packReader{b: b}
	r.raw = r.take(r.number())
	op := r.byte1()
	*c = Change{Raw: r.raw, Op: Operation(op &^ packedBackfill), Backfill: op&packedBackfill != 0,
		ViewType: ViewType(r.byte1())}
	c.Index = int32(uint32(r.number()))
	c.SizeBytes = int64(r.number())
	c.Version.epoch = r.number()
	if r.number() == 1 {
		seconds, nanoseconds := r.number(), r.number()
		c.Time = time.Unix(int64(seconds), int64(nanoseconds)).UTC()
	}
	for _, text := range changeTexts(c) {
		*text = ddbjson.View(r.readRange())
	}
	for _, image := range []*item.Image{&c.Keys, &c.Old, &c.New} {
		if r.byte1() == 0 {
			continue
		}
		u.scan.Input, u.scan.AllowEmptyMaps = r.readRange(), true
		start := u.scan.SkipSpace(0)
		attrs, next := u.scan.Item(start, nil, nil)
		if next < 0 || r.invalid {
			return nil, ErrPacked
		}
		*image = item.Indexed(u.scan.Input[start:next], attrs)
	}
	if r.invalid {
		return nil, ErrPacked
	}
	return r.b, nil
}
