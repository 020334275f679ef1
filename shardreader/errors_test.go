package shardreader_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader"
)

type apiError struct{}

func (apiError) Error() string     { return "api error: the item secret is not yours" }
func (apiError) ErrorCode() string { return "ValidationException" }

type plainError struct{}

func (plainError) Error() string { return "secret" }

// The text for logs does not have the text of a server; it has the subject, and what to do.
func TestError_RedactedHasNoTextOfTheServer(t *testing.T) {
	for want, cause := range map[string]error{
		"ValidationException":         fmt.Errorf("https response: %w", apiError{}),
		"shardreader_test.plainError": pipeline.Transient(fmt.Errorf("reading: %w", plainError{})),
	} {
		e := &shardreader.Error{Op: "GetRecords", Subject: "shard 1", Kind: shardreader.ErrDenied, Err: cause, Hint: "check it"}
		if got := "GetRecords shard 1: access denied: " + want + " (check it)"; e.Redacted() != got {
			t.Errorf("%q, want %q", e.Redacted(), got)
		}
		if got := redact.LogText(pipeline.Transient(fmt.Errorf("once more: %w", e))); got != "denied: "+e.Redacted() {
			t.Errorf("wrapped, its text for logs is %q", got)
		}
		if !strings.Contains(e.Error(), "secret") {
			t.Errorf("its whole text is %q", e.Error())
		}
	}
	if got := (&shardreader.Error{Op: "ListStreams"}).Redacted(); got != "ListStreams" {
		t.Errorf("without a cause: %q", got)
	}
}

func TestLogText_OfOtherErrors(t *testing.T) {
	if got := redact.LogText(&redact.PanicError{Stage: "GetRecords", Value: plainError{}}); got != "panic: GetRecords: a shardreader_test.plainError" {
		t.Errorf("of a panic: %q", got)
	}
}
