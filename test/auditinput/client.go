package auditinput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// pageBytes is the approximate size of an answer to a scan.
const pageBytes = 256 << 10

// transport answers requests about the table.
type transport struct{ in *Input }

// RoundTrip answers a request.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	answer := []byte(`{"Table":{"TableName":"orders","TableArn":"` + tableARN + `","TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}]}}`)
	switch _, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), "."); op {
	case "DescribeTable":
	case "Scan":
		if answer, err = t.scan(body); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%s is not answered", op)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, ContentLength: int64(len(answer)), Body: io.NopCloser(bytes.NewReader(answer))}, nil
}

func (t transport) scan(body []byte) ([]byte, error) {
	var in struct {
		Segment, TotalSegments int
		ExclusiveStartKey      struct{ PK struct{ S string } }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	next, end := t.in.n*in.Segment/in.TotalSegments, t.in.n*(in.Segment+1)/in.TotalSegments
	if _, last, ok := strings.Cut(in.ExclusiveStartKey.PK.S, "#"); ok {
		number, err := strconv.Atoi(last)
		if err != nil {
			return nil, err
		}
		next = number - firstNumber + 1
	}
	b := append(make([]byte, 0, pageBytes+4096), `{"Items":[`...)
	items := 0
	for ; next < end && len(b) < pageBytes; next++ {
		if items++; items > 1 {
			b = append(b, ',')
		}
		b = t.in.item.appendTo(b, next)
	}
	b = fmt.Appendf(b, `],"Count":%d,"ScannedCount":%d`, items, items)
	if next < end {
		b = append(b, `,"LastEvaluatedKey":`...)
		b = t.in.key.appendTo(b, next-1)
	}
	return append(b, '}'), nil
}
