package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/shardreader/snapshot"
)

// Options configure a Scan.
type Options struct {
	Client Client
	Table  string // name or ARN of the table

	// Segments is the number of parts, 1 to 1,000,000. All processes of a backfill must have the same number. DynamoDB
	// divides the table by a hash of the key, so segments differ in size. Many small segments distribute the work
	// better. Default: 16
	Segments int

	// RCU is the maximum read capacity of this process, in units a second. Two processes with an RCU of 100 use 200. A
	// page of 1 MB costs 256 units. The rate is halved if a request is throttled, and rises again slowly ([Pace]).
	// Default: no limit until a request is throttled
	RCU float64

	// Slowed is called with each lower rate, by one goroutine at a time. Default: not called
	Slowed func(rate float64)

	// Time is a time before the first request of the backfill by any process. Every item has the state of this time or
	// later. Required
	Time time.Time

	// PageItems is the maximum number of items in a page. Default: as many as fit into 1 MB
	PageItems int

	// Decoder holds the options of the decoder. Keys and Table default to those of the table. StreamARN defaults to the
	// table's newest stream, unless EpochZero or Kinesis is set
	Decoder record.SnapshotOptions

	// Narrowing selects items. DynamoDB evaluates the conditions that a filter expression can have. The caller must
	// evaluate Narrowing again for each change. Default: all items
	Narrowing *snapshot.ItemSelection

	// OnRetry is called when a failed request will be repeated after wait. It is called concurrently. Default: not
	// called
	OnRetry func(err error, wait time.Duration)
}

// maxSegments is DynamoDB's limit (API reference, Scan: TotalSegments).
const maxSegments = 1_000_000

// Scan is a table as a snapshot. It is safe for concurrent use.
type Scan struct {
	options Options
	table   Table
	decoder *record.SnapshotDecoder
	limiter *limiter
	width   int // number of digits of a segment's number

	filter string // FilterExpression; "" if none
	names  map[string]string
	values map[string]types.AttributeValue
}

var _ snapshot.Snapshot = (*Scan)(nil)

// New describes the table and returns its scan. It reads no items.
func New(ctx context.Context, o Options) (*Scan, error) {
	o.Segments = cmp.Or(o.Segments, 16)
	if o.OnRetry == nil {
		o.OnRetry = func(error, time.Duration) {}
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	table, err := Describe(ctx, o.Client, o.Table)
	if err != nil {
		return nil, err
	}
	if err := o.setDecoder(table); err != nil {
		return nil, err
	}
	s := &Scan{
		options: o, table: table, decoder: record.NewSnapshotDecoder(o.Decoder),
		limiter: newLimiter(NewPace(o.RCU, o.Slowed)), width: max(4, len(strconv.Itoa(o.Segments))),
	}
	if e := o.Narrowing.Expression(); e.Text != "" {
		s.filter, s.names, s.values = e.Text, e.Names, map[string]types.AttributeValue{}
		for p, v := range e.Values {
			s.values[p] = sdkvalue.Of(v)
		}
	}
	return s, nil
}

// Units returns the read units that all requests have cost so far.
func (s *Scan) Units() float64 {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	return s.limiter.spent
}

func (o *Options) validate() error {
	switch {
	case o.Client == nil:
		return errors.New("scan: Client is missing")
	case o.Table == "":
		return errors.New("scan: Table is empty: name the table")
	case o.Segments < 1 || o.Segments > maxSegments:
		return fmt.Errorf("scan: Segments is %d: it must be 1 to %d", o.Segments, maxSegments)
	case o.PageItems < 0 || o.PageItems > math.MaxInt32:
		return fmt.Errorf("scan: PageItems is %d: it must not be negative", o.PageItems)
	case o.RCU < 0:
		return fmt.Errorf("scan: RCU is %v: it must not be negative", o.RCU)
	case o.Time.IsZero():
		return errors.New("scan: Time is missing: it is a time before the first request")
	}
	return nil
}

// setDecoder completes the options of the decoder from the description of the table.
func (o *Options) setDecoder(table Table) error {
	d := &o.Decoder
	if d.Keys != nil && !slices.Equal(d.Keys, table.Keys) {
		return errs.Errorf("scan: Decoder.Keys is %s, but the key of the table %s is %s",
			redact.Safe(strings.Join(d.Keys, ",")), redact.Safe(table.Name), redact.Safe(strings.Join(table.Keys, ",")))
	}
	d.Keys, d.Table = table.Keys, cmp.Or(d.Table, table.Name)
	if d.StreamARN != "" || d.EpochZero || d.Kinesis {
		return nil
	}
	if !table.StreamEnabled {
		return errs.Errorf(
			"scan: no stream of the table %s is enabled, whose changes would follow the scan: enable it, or set Decoder.StreamARN", redact.Safe(table.Name))
	}
	d.StreamARN = table.StreamARN
	return nil
}

// Table returns the description of the table, which New read.
func (s *Scan) Table() Table { return s.table }

// Info describes the scan. Items and Bytes are the approximate counts of the whole table (see [Table]). Items is -1 if
// the scan is narrowed. Both are -1 if DynamoDB has not counted the table yet.
func (s *Scan) Info() snapshot.Info {
	begun := s.options.Time.UTC()
	source := fmt.Sprintf("scan %s segments %d begun %s", s.table.ARN, s.options.Segments, begun.Format(time.RFC3339))
	if n := s.options.Narrowing.String(); n != "" {
		source += " " + n
	}
	items, bytes := s.tableCounts()
	return snapshot.Info{
		Source: source, Time: begun, OldestTime: begun, TableARN: s.table.ARN, View: record.NewAndOldImages,
		Items: items, Bytes: bytes,
	}
}

func (s *Scan) tableCounts() (items, bytes int64) {
	items, bytes = s.table.Items, s.table.Bytes
	if items <= 0 || bytes <= 0 {
		return -1, -1
	}
	if s.options.Narrowing != nil {
		items = -1
	}
	return items, bytes
}

// Parts returns the segments: "0000/0016" is the first of 16. Items and Bytes are estimates: the total divided by the
// number of segments.
func (s *Scan) Parts() []snapshot.Part {
	parts := make([]snapshot.Part, s.options.Segments)
	items, bytes := s.tableCounts()
	segments := int64(s.options.Segments)
	estimate := snapshot.Part{Items: sharePerPart(items, segments), Bytes: sharePerPart(bytes, segments)}
	for i := range parts {
		parts[i] = estimate
		parts[i].ID = s.id(i)
	}
	return parts
}

// sharePerPart returns total divided by parts, rounded up; -1 if total is unknown.
func sharePerPart(total, parts int64) int64 {
	if total < 0 {
		return -1
	}
	return (total + parts - 1) / parts
}

func (s *Scan) id(segment int) string {
	return fmt.Sprintf("%0*d/%0*d", s.width, segment, s.width, s.options.Segments)
}

// Open opens a segment after a position. The position is the LastEvaluatedKey of a page in DynamoDB's JSON, or "end"
// after the last page.
func (s *Scan) Open(ctx context.Context, id string, from pipeline.Position) (snapshot.Reader, error) {
	number, _, _ := strings.Cut(id, "/")
	segment, err := strconv.Atoi(number)
	if err != nil || segment < 0 || segment >= s.options.Segments || s.id(segment) != id {
		return nil, errs.Errorf("scan: there is no part %q: the segments are %s to %s", id, s.id(0), s.id(s.options.Segments-1))
	}
	r := &reader{scan: s, id: id, segment: int32(segment)}
	switch from {
	case "":
	case endPosition:
		r.ended = true
	default:
		if r.startKey, err = s.parseStartKey([]byte(from)); err != nil {
			return nil, errs.Errorf("scan: segment %s: the position to continue from: %w", id, err)
		}
	}
	return r, nil
}
