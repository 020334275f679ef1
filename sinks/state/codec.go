package state

import (
	"encoding/binary"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
)

// contributionFormat is the first byte of a contribution's shares: other layouts
// to come will have another one.
const contributionFormat = 1

// How Since stands in the shares of a contribution.
const (
	sinceVersion = iota // it is the contribution's version
	sinceZero
	sinceStream
	sinceKinesis
)

// The texts of versions, as [record.Version.String] writes them.
const (
	epochDigits           = 10
	sequenceDigits        = 40
	kinesisEpochDigits    = 16
	kinesisSequenceDigits = 60
)

var errContribution = errs.New("not the shares of a contribution")

// AppendShares appends all of c but its version, which a store keeps beside it to
// compare it: some 20 bytes, and the texts of the shares. [ParseContribution] reads it.
func (c Contribution) AppendShares(dst []byte) []byte {
	dst = append(dst, contributionFormat)
	dst = appendSince(dst, c)
	dst = binary.AppendUvarint(dst, uint64(len(c.Shares)))
	for _, s := range c.Shares {
		dst = appendText(dst, string(s.Group))
		dst = binary.AppendUvarint(dst, uint64(len(s.Values)))
		for _, v := range s.Values {
			dst = appendText(dst, v)
		}
	}
	return dst
}

// ParseContribution is the Contribution of a version whose shares are what
// [Contribution.AppendShares] wrote. It does not keep b.
func ParseContribution(version record.Version, b []byte) (Contribution, error) {
	c := Contribution{Version: version}
	r := reader{rest: string(b)} // one copy, of which all texts are parts
	if r.byte() != contributionFormat {
		return Contribution{}, errContribution
	}
	c.Since = r.since(version)
	for n := r.count(); n > 0 && !r.failed; n-- {
		share := Share{Group: Row(r.text())}
		for n := r.count(); n > 0 && !r.failed; n-- {
			share.Values = append(share.Values, r.text())
		}
		c.Shares = append(c.Shares, share)
	}
	if r.failed || r.rest != "" {
		return Contribution{}, errContribution
	}
	return c, nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendSince packs two digits of a version into a byte.
func appendSince(dst []byte, c Contribution) []byte {
	switch {
	case c.Since == c.Version:
		return append(dst, sinceVersion)
	case c.Since.IsZero():
		return append(dst, sinceZero)
	}
	var buf [80]byte
	text := c.Since.Append(buf[:0])
	if c.Since.Kinesis() {
		dst, text = append(dst, sinceKinesis), text[1:]
	} else {
		dst = append(dst, sinceStream)
	}
	for i := 0; i+1 < len(text); i += 2 {
		dst = append(dst, (text[i]-'0')<<4|(text[i+1]-'0'))
	}
	return dst
}

// reader takes the layout apart. After a failure it reads nothing but zeros.
type reader struct {
	rest   string
	failed bool
}

func (r *reader) take(n int) string {
	if r.failed || n > len(r.rest) {
		r.failed, r.rest = true, ""
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) byte() byte {
	if s := r.take(1); s != "" {
		return s[0]
	}
	return 0
}

// count is a length: never more than there are bytes left, since each part has one at least.
func (r *reader) count() int {
	n := uint64(0)
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if n > uint64(len(r.rest)) {
				break
			}
			return int(n)
		}
	}
	r.failed = true
	return 0
}

func (r *reader) text() string { return r.take(r.count()) }

func (r *reader) since(version record.Version) record.Version {
	var b strings.Builder
	digits := epochDigits + sequenceDigits
	switch r.byte() {
	case sinceVersion:
		return version
	case sinceZero:
		return record.Version{}
	case sinceKinesis:
		b.WriteByte('k')
		digits = kinesisEpochDigits + kinesisSequenceDigits
	case sinceStream:
	default:
		r.failed = true
	}
	packed := r.take(digits / 2)
	for i := range len(packed) {
		b.WriteByte('0' + packed[i]>>4)
		b.WriteByte('0' + packed[i]&0xf)
	}
	v, err := record.ParseVersion(b.String())
	r.failed = r.failed || err != nil
	return v
}
