package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

// A server that closes the connection in place of an answer makes an error that wraps io.EOF. It is not the end of a
// source: the records behind it were not read.
func TestIsEnd_AnErrorThatWrapsEOFIsAFailure(t *testing.T) {
	broken := fmt.Errorf("GetRecords: request send failed: %w", io.EOF)
	src := SourceFunc(func(context.Context) (*Page, error) { return nil, broken })
	if err := newPipeline(t, &recorder{}).Run(t.Context(), src, nil); !errors.Is(err, broken) {
		t.Errorf("Run returned %v", err)
	}
	var last error
	for _, err := range DecodedPages(t.Context(), src) {
		last = err
	}
	if !errors.Is(last, broken) {
		t.Errorf("DecodedPages ended with %v", last)
	}
}
