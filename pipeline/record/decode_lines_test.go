package record_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/record"
)

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, input string
		changes     int
	}{
		{"nothing", "", 0},
		{"blank", "\n \r\n\n", 0},
		{"lines", pipelinetest.Insert + "\n" + pipelinetest.Modify + "\n", 2},
		{"no newline at the end", pipelinetest.Insert + "\n" + pipelinetest.Modify, 2},
		{"CR LF", pipelinetest.Insert + "\r\n" + pipelinetest.Modify + "\r\n", 2},
		{"byte order mark", "\xef\xbb\xbf" + pipelinetest.Insert + "\n\n\n" + pipelinetest.Modify, 2},
		{"an event on a line", `{"Records":[` + pipelinetest.Insert + `,` + pipelinetest.Modify + `]}` + "\n" + pipelinetest.Insert, 3},
		{"an array on a line", `[` + pipelinetest.Insert + `]` + "\n" + pipelinetest.Insert, 2},
		{"a newline lost", pipelinetest.Insert + pipelinetest.Modify + "\n" + pipelinetest.Insert, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(tt.input))
			if len(page.Changes) != tt.changes || len(page.Errors) != 0 || page.Bytes != len(tt.input) {
				t.Errorf("%d changes, %v", len(page.Changes), page.Errors)
			}
			for i, c := range page.Changes {
				if int(c.Index) != i {
					t.Errorf("change %d has index %d", i, c.Index)
				}
			}
		})
	}
}

// The sender chooses the names in a path, so an error must stay short even if they are long.
func TestPathsAreBounded(t *testing.T) {
	for _, line := range []string{
		strings.Repeat(`{"é":`, 5000),
		strings.Repeat(`[`, 5000),
		pipelinetest.With(pipelinetest.Insert, `"NewImage":{`, `"NewImage":{"`+strings.Repeat("x", 10_000)+`":{"N":"?"},`),
	} {
		page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(line))
		if len(page.Errors) != 1 || len(page.Errors[0].Error()) > 1000 || !utf8.ValidString(page.Errors[0].Path) {
			t.Errorf("%.60s: %.200v", line, page.Errors)
		}
	}
}

func TestBrokenLinesLoseNothingElse(t *testing.T) {
	unsound := pipelinetest.With(pipelinetest.Modify, `"MODIFY"`, `5`)
	cut := pipelinetest.Modify[:strings.Index(pipelinetest.Modify, `"OldImage"`)+30]
	input := pipelinetest.Insert + "\n" + cut + "\nhello\n" + unsound + "\n" + `[` + pipelinetest.Modify + `,{"x` + "\n" + pipelinetest.TTLDelete
	page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(input))
	if len(page.Changes) != 3 || len(page.Errors) != 4 {
		t.Fatalf("%d changes, %v", len(page.Changes), page.Errors)
	}
	for i, want := range []struct {
		index   int
		raw     string
		path    string
		framing bool
	}{
		{1, cut, "dynamodb.OldImage.PK", true},
		{2, "hello", "", true},
		{3, unsound, "eventName", false},
		{5, `{"x`, "", true},
	} {
		e := page.Errors[i]
		broken, framing := errors.AsType[*record.FramingError](error(e))
		if e.Index != want.index || string(e.Raw) != want.raw || e.Path != want.path || framing != want.framing || int(e.Offset) != strings.Index(input, want.raw) {
			t.Errorf("error %d: %+v", i, e)
		}
		if framing && (broken.Offset < e.Offset || int(broken.Offset) > int(e.Offset)+len(e.Raw)) {
			t.Errorf("error %d: broken at %d", i, broken.Offset)
		}
	}
	// The error has the key if the line is cut after it, so that the order of the key is kept.
	if e := page.Errors[0]; e.Key != "USER%231,PROFILE" {
		t.Errorf("%+v", e)
	}
	if e := page.Errors[2]; e.Key != "USER%231,PROFILE" || e.Version.IsZero() {
		t.Errorf("%+v", e)
	}
	if c := page.Changes[2]; c.Index != 6 || !c.TTLDelete() {
		t.Errorf("%+v", c)
	}
}

// A record does not continue after a newline, so a truncated line does not include the next one.
func TestLinesEndAtTheNewline(t *testing.T) {
	at := strings.Index(pipelinetest.Modify, `"dynamodb"`)
	page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(pipelinetest.Modify[:at] + "\n" + pipelinetest.Modify[at:] + "\n" + pipelinetest.Insert))
	if len(page.Changes) != 1 || len(page.Errors) != 2 {
		t.Errorf("%d changes, %v", len(page.Changes), page.Errors)
	}
}
