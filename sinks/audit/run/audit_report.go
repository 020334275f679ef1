package run

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/audit"
)

// line is one line of a report. The first line has the Header, the last one the Summary, and every other line a
// Finding.
type line struct {
	Header  *Header        `json:"audit,omitempty"`
	Sink    string         `json:"sink,omitempty"`
	Finding *audit.Finding `json:"finding,omitempty"`
	Summary *Summary       `json:"summary,omitempty"`
}

// reportFormat is the number of the layout of a report.
const reportFormat = 1

// Header describes the request of an audit.
type Header struct {
	Format   int       `json:"format"`
	Run      string    `json:"run"`
	Pipeline string    `json:"pipeline"`
	Sinks    []string  `json:"sinks"`
	Source   string    `json:"source"`
	Begun    time.Time `json:"begun"`
	Stream   string    `json:"stream,omitempty"` // ARN of the stream that the sinks follow
	Assumed  string    `json:"assumed,omitempty"`
	Sample   *Sample   `json:"sample,omitempty"`
	// Open is the number of entries that an earlier audit left open and this audit does not compare: see OpenAfter.
	Open int64 `json:"open,omitempty"`
}

// Sample selects some segments of the table. Of each sink, it selects the segments with the same numbers.
type Sample struct {
	Segments []int `json:"segments"` // numbers, from 0
	Of       int   `json:"of"`       // number of all segments
}

// report is a report that is being written.
type report struct {
	file   *os.File
	w      *bufio.Writer
	length int64 // bytes that were added, including those that w holds
}

// openReport opens a report, and cuts it to length, the length at the last checkpoint.
func openReport(path string, length int64) (*report, error) {
	f, err := private.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := cutReport(f, path, length); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &report{file: f, w: bufio.NewWriter(f), length: length}, nil
}

// cutReport cuts the file f to length, and moves its offset to the end. It returns an error if the file is shorter than
// length. If length is 0, the audit begins: then cutReport also returns an error if the file has content that is not a
// report.
func cutReport(f *os.File, path string, length int64) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	isNewAudit := length == 0
	if isNewAudit && size > 0 {
		if _, _, err := ReadReport(path, func(string, *audit.Finding) error { return nil }); err != nil {
			return fmt.Errorf("--report would replace a file that is not a report: %w", err)
		}
	}
	if size < length {
		return errs.Errorf("%s is shorter than the audit left it: delete its work folder, and start anew", redact.Safe(path))
	}
	if err := f.Truncate(length); err != nil {
		return err
	}
	_, err = f.Seek(length, io.SeekStart)
	return err
}

// add adds a line.
func (r *report) add(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	n, err := r.w.Write(append(b, '\n'))
	r.length += int64(n)
	return err
}

// flush writes all lines to the file.
func (r *report) flush() error { return r.w.Flush() }

// close writes all lines to the file, and closes it.
func (r *report) close() error { return errors.Join(r.w.Flush(), r.file.Sync(), r.file.Close()) }

// OpenAfter is for an audit that compares only the findings in the report of an earlier audit. It returns the number of
// entries, items and sinks that the earlier audit left open and did not list, so that they stay open. h and s are the
// header and the summary of the report. s is nil if the earlier audit did not end. sinks has the names of the sinks
// that the new audit compares; nil means all sinks.
func OpenAfter(h *Header, s *Summary, sinks []string) int64 {
	if s == nil {
		return h.Open + 1 // the audit did not end
	}
	open := s.Open
	for i := range s.Sinks {
		sink := &s.Sinks[i]
		listed := sink.Findings[audit.Busy] + sink.Findings[audit.Skipped]
		open -= listed
		isLeftOut := sinks != nil && !slices.Contains(sinks, sink.Sink)
		if isLeftOut && sink.NotCompared != "" {
			open-- // the earlier audit counted the sink
		}
	}
	if s.Coverage < 1 || s.Incomplete != "" {
		open++
	}
	return open
}

// checkHeader returns an error if the first line of a report has no header, or one of another format. h is nil if the
// line has none.
func checkHeader(path string, h *Header) error {
	switch {
	case h == nil:
		return errs.Errorf("%s is not a report that tablewake audit saved", redact.Safe(path))
	case h.Format != reportFormat:
		return errs.Errorf("%s has format %d, and this program reads %d: audit again", redact.Safe(path), h.Format,
			reportFormat)
	}
	return nil
}

// ReadReport reads a saved report, and calls visit with each finding. It returns the header and the summary. The
// summary is nil if the audit did not end. Such a report may end within a line: the audit finds its content again when
// it continues.
func ReadReport(path string, visit func(sink string, f *audit.Finding) error) (*Header, *Summary, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var header *Header
	var summary *Summary
	r := bufio.NewReaderSize(f, 64<<10)
	for number := 1; ; number++ {
		b, err := r.ReadBytes('\n')
		if err != nil && !pipeline.IsEnd(err) {
			return nil, nil, err
		}
		if len(b) == 0 {
			break
		}
		var l line
		isCutOff := pipeline.IsEnd(err) && number > 1 // without a line break
		if err := json.Unmarshal(b, &l); err != nil && isCutOff {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("%s, line %d: not a line of a report: %w", path, number, err)
		}
		if number == 1 {
			if err := checkHeader(path, l.Header); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case l.Header != nil:
			header = l.Header
		case l.Summary != nil:
			summary = l.Summary
		case l.Finding != nil:
			if err := visit(l.Sink, l.Finding); err != nil {
				return nil, nil, err
			}
		}
	}
	if header == nil {
		return nil, nil, errs.Errorf("%s is empty: audit again", redact.Safe(path))
	}
	return header, summary, nil
}
