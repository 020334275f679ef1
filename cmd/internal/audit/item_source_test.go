package audit

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// The records before an error are read, and undecodable records among them are named.
func TestReadPages_PageBesideAnError(t *testing.T) {
	cut := errors.New("the file is cut")
	src := pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		p := &pipeline.Page{}
		p.Changes = []record.Change{{Key: "P1"}}
		p.Errors = []*record.RecordError{{Index: 1, Err: errors.New("no version")}}
		return p, cut
	})
	var log bytes.Buffer
	j := &job{streams: cli.Streams{Err: &log}}
	var got []string
	err := j.readPages(t.Context(), src, func(p *record.Page) error {
		for _, c := range p.Changes {
			got = append(got, string(c.Key))
		}
		return nil
	})
	if !errors.Is(err, cut) || strings.Join(got, " ") != "P1" || j.lostRecords != 1 || !strings.Contains(log.String(), "not compared") {
		t.Errorf("%v, changes %v, %d lost, log %q", err, got, j.lostRecords, log.String())
	}
}
