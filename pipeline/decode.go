package pipeline

// DecoderOptions shape how records become changes.
type DecoderOptions struct {
	StreamARN     string // taken where a record has none. Default: none
	Table         string // taken where neither record nor ARN names one. Default: none
	Shard         string // the shard of every record. Default: unknown
	EpochZero     bool   // accept records without a stream ARN, at epoch 0. Default: such a record is an error
	TableInKey    bool   // prefix canonical keys with the table
	DynamoDBLocal bool   // take {} as the empty map, and count it
}

// Decoder turns the bytes of Lambda events, GetRecords answers, record arrays,
// JSON lines and Kinesis events into pages. It is safe for concurrent use.
type Decoder struct{ o DecoderOptions }

func NewDecoder(o DecoderOptions) *Decoder { panic("decode") }

// Decode reads one JSON document: a Lambda event or GetRecords answer
// ({"Records":[...]}), an array of records, or one record. It takes b over. On
// broken grammar it returns the page of what stands before, and a *FramingError.
func (d *Decoder) Decode(b []byte) (*Page, error) { panic("decode") }

// DecodeLines reads records one a line. A line of broken grammar is a
// RecordError in the page, and reading goes on at the next line.
func (d *Decoder) DecodeLines(b []byte) *Page { panic("decode") }

// Answer is a whole GetRecords answer.
type Answer struct {
	Page         *Page
	NextIterator string // "" when the shard has ended
	Ended        bool   // NextShardIterator is null or absent in a complete, valid answer
}

// DecodeAnswer reads a GetRecords answer. An empty, cut or trailing-garbage body is a *FramingError, and never Ended.
func (d *Decoder) DecodeAnswer(b []byte) (Answer, error) { panic("decode") }

// RecordError is one record whose grammar is sound and whose shape is wrong.
type RecordError struct {
	Index    int    // of the record in its page, 0-based
	Offset   int64  // of the record in its page's input, bytes
	Path     string // where in the record: dynamodb.NewImage.Address.Lines[2]
	Key      Key    // "" where the keys do not decode
	Sequence string // "" where it does not decode
	Version  Version
	Raw      []byte
	Err      error
}

func (e *RecordError) Error() string { panic("decode") }
func (e *RecordError) Unwrap() error { return e.Err }

// FramingError is input whose JSON grammar is broken.
type FramingError struct {
	Offset int64 // bytes from the start of the input
	Index  int   // of the record in which it broke
	Err    error
}

func (e *FramingError) Error() string { panic("decode") }
func (e *FramingError) Unwrap() error { return e.Err }
