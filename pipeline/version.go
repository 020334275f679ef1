package pipeline

// Version orders the changes of one item: the stream's epoch, then the sequence
// number, both compared as numbers. It is comparable with ==. Versions of
// different items mean nothing to each other.
type Version struct {
	epoch    uint64 // seconds (streams), or microseconds (Kinesis)
	sequence string // decimal digits without leading zeros
	kinesis  bool
}

func (v Version) Compare(w Version) int      { panic("decode") }
func (v Version) IsZero() bool               { panic("decode") }
func (v Version) Kinesis() bool              { panic("decode") }
func (v Version) Append(dst []byte) []byte   { panic("decode") } // 10 digits of epoch + 40 of sequence; Kinesis: k + 16 + 60
func (v Version) String() string             { panic("decode") } // fixed width: text order is version order
func ParseVersion(s string) (Version, error) { panic("decode") }

// CompareSequence compares two sequence numbers as numbers of any length.
func CompareSequence(a, b string) int { panic("decode") }
