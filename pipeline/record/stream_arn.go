package record

import (
	"fmt"
	"strings"
	"time"
)

// streamARN is a parsed ARN of a DynamoDB stream: arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL.
type streamARN struct {
	arn, region, table string
	epoch              uint64 // the label's time in Unix seconds
	err                error  // set if arn is not the ARN of a stream; the fields may then be empty
}

var errStreamARN = errs.New(
	"want the ARN of a stream: arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/YYYY-MM-DDThh:mm:ss.sss")

// parseStreamARN parses arn. If arn is invalid, the result has err and the fields that precede the invalid part.
func parseStreamARN(arn string) streamARN {
	s := streamARN{arn: arn, err: errStreamARN}
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return s
	}
	s.region = parts[3]
	table, ok := strings.CutPrefix(parts[5], "table/")
	if parts[2] != "dynamodb" || !ok {
		return s
	}
	name, label, ok := strings.Cut(table, "/stream/")
	s.table = name
	if !ok || name == "" {
		return s
	}
	labelTime, err := time.Parse("2006-01-02T15:04:05.999999999", label)
	if err != nil || labelTime.Unix() < 0 {
		s.err = fmt.Errorf("the stream's label is not a time: %w", errStreamARN)
		return s
	}
	s.epoch, s.err = uint64(labelTime.Unix()), nil
	return s
}

// CheckStreamARN returns nil if arn is the ARN of a DynamoDB stream. Otherwise the error shows the right form.
func CheckStreamARN(arn string) error { return parseStreamARN(arn).err }

// streamCache keeps the parsed ARNs of a page. Most pages have one ARN. The texts are copies, so the page can be freed.
type streamCache struct{ known []streamARN }

// maxStreams limits the cached ARNs, because parse searches all of them. The records of a page belong to few tables.
const maxStreams = 8

// parse returns the parts of arn. It parses arn if the cache does not have it.
func (s *streamCache) parse(arn string) *streamARN {
	for i := range s.known {
		if s.known[i].arn == arn {
			return &s.known[i]
		}
	}
	if len(s.known) == maxStreams {
		s.known = s.known[1:]
	}
	s.known = append(s.known, parseStreamARN(strings.Clone(arn)))
	return &s.known[len(s.known)-1]
}
