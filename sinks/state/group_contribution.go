package state

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Contribution holds the values that one version of an item adds to the groups of an aggregate. In a view with for_each
// it lists the rows of the item: see [ItemRowsWrite].
type Contribution struct {
	Version record.Version // version of the change or repair that set the contribution; zero if the item is unknown
	// Since is the version of the change with which the item began to count. It distinguishes the item from an expired
	// item of the same key.
	Since  record.Version
	Shares []Share // one share for each element that counts; empty if the item counts for nothing
	// Void means that the change could not be counted, or is only partly written. The same version may replace the
	// contribution.
	Void bool
}

// ItemContribution is the contribution of an item.
type ItemContribution struct {
	Item item.Key // "" if the key was too long to store and only its digest is known
	Contribution
}

// Share holds the values that one element of an item adds to one group.
type Share struct {
	Group Row // the group's row, without a shard
	// Values has one text for each value of the aggregate, sorted by the value's name. The text is that of a [Number]
	// or a [SortableText]. It is "" if the value is missing.
	Values []string
}

// Equal reports whether both shares have the same group and values.
func (s Share) Equal(t Share) bool { return s.Group == t.Group && slices.Equal(s.Values, t.Values) }

// contributionFormat is the first byte of encoded shares: the number of their layout.
const contributionFormat = 1

// The forms of Since in encoded shares.
const (
	sinceIsVersion = iota // Since is the contribution's version
	sinceZero
	sinceStream
	sinceKinesis
)

// The text of the version of a change ([record.Version.String]) has an epoch and a sequence number with these numbers
// of digits.
const (
	epochDigits           = 10
	sequenceDigits        = 40
	kinesisEpochDigits    = 16
	kinesisSequenceDigits = 60
)

var errContribution = errs.New("not the shares of a contribution")

// AppendShares appends the encoded Since and Shares of c to dst: about 20 bytes, and the texts of the shares. A store
// keeps Version and Void separately. [ParseContribution] reads the encoding.
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

// ParseContribution returns the contribution whose Since and Shares [Contribution.AppendShares] wrote to b. It sets
// Version to version and does not set Void. It does not keep b.
func ParseContribution(version record.Version, b []byte) (Contribution, error) {
	r := reader{rest: string(b)} // one copy, which all texts share
	if r.readByte() != contributionFormat {
		return Contribution{}, errContribution
	}

	c := Contribution{Version: version, Since: r.readSince(version)}
	for shares := r.readCount(); shares > 0 && !r.failed; shares-- {
		c.Shares = append(c.Shares, r.readShare())
	}
	if r.failed || r.rest != "" {
		return Contribution{}, errContribution
	}
	return c, nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendSince appends c.Since. It packs two digits of a version into a byte.
func appendSince(dst []byte, c Contribution) []byte {
	switch {
	case c.Since == c.Version:
		return append(dst, sinceIsVersion)
	case c.Since.IsZero():
		return append(dst, sinceZero)
	}

	var buf [80]byte
	text := c.Since.Append(buf[:0])
	if c.Since.Kinesis() {
		dst = append(dst, sinceKinesis)
		text = text[1:] // without its first letter, k
	} else {
		dst = append(dst, sinceStream)
	}
	for i := 0; i+1 < len(text); i += 2 {
		high, low := text[i]-'0', text[i+1]-'0'
		dst = append(dst, high<<4|low)
	}
	return dst
}

// reader reads the encoded shares. After a failure it returns zero values.
type reader struct {
	rest   string
	failed bool
}

func (r *reader) readBytes(n int) string {
	if r.failed || n > len(r.rest) {
		r.failed, r.rest = true, ""
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) readByte() byte {
	if s := r.readBytes(1); s != "" {
		return s[0]
	}
	return 0
}

func (r *reader) readShare() Share {
	share := Share{Group: Row(r.readText())}
	for values := r.readCount(); values > 0 && !r.failed; values-- {
		share.Values = append(share.Values, r.readText())
	}
	return share
}

// readCount reads a length. It fails if the length is greater than the number of remaining bytes, because each element
// takes at least one byte.
func (r *reader) readCount() int {
	count, size := binary.Uvarint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if size <= 0 || count > uint64(len(r.rest)-size) {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(count)
}

func (r *reader) readText() string { return r.readBytes(r.readCount()) }

func (r *reader) readSince(version record.Version) record.Version {
	switch r.readByte() {
	case sinceIsVersion:
		return version
	case sinceZero:
		return record.Version{}
	case sinceStream:
		return r.readVersion("", epochDigits+sequenceDigits)
	case sinceKinesis:
		return r.readVersion("k", kinesisEpochDigits+kinesisSequenceDigits)
	default:
		r.failed = true
		return record.Version{}
	}
}

// readVersion reads a version that appendSince packed. prefix is the start of its text, before the digits.
func (r *reader) readVersion(prefix string, digits int) record.Version {
	var b strings.Builder
	b.WriteString(prefix)
	packed := r.readBytes(digits / 2)
	for i := range len(packed) {
		b.WriteByte('0' + packed[i]>>4)
		b.WriteByte('0' + packed[i]&0xf)
	}
	v, err := record.ParseVersion(b.String())
	r.failed = r.failed || err != nil
	return v
}
