package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tablewake/tablewake/pipeline"
)

// multiplied is a source of n records: the fixture again and again, each time under
// other partition keys.
type multiplied struct {
	lines  [][]byte // of the fixture
	left   int
	copies int // behind us
	next   int // of lines
	dec    *pipeline.Decoder
	page   int
}

func newMultiplied(file string, n int) (*multiplied, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return &multiplied{lines: lines, left: n, dec: pipeline.NewDecoder(pipeline.DecoderOptions{})}, nil
}

// Read brings a page of about a mebibyte, to be decoded by the pipeline's workers.
func (m *multiplied) Read(context.Context) (*pipeline.Page, error) {
	if m.left == 0 {
		return nil, io.EOF
	}
	var b []byte
	for ; m.left > 0 && len(b) < 1<<20; m.left-- {
		b = append(m.appendRecord(b), '\n')
	}
	m.page++
	return &pipeline.Page{
		Partition: "fixture",
		Position:  pipeline.Position(fmt.Sprint(m.page)),
		Bytes:     len(b),
		Decode:    func() (*pipeline.Page, error) { return m.dec.DecodeLines(b), nil },
	}, nil
}

// appendRecord appends the next record with its partition key, wherever it stands,
// marked by the number of the copy.
func (m *multiplied) appendRecord(dst []byte) []byte {
	rest := m.lines[m.next]
	if m.next++; m.next == len(m.lines) {
		m.next = 0
		defer func() { m.copies++ }()
	}
	const mark = `"PK":{"S":"`
	for {
		i := bytes.Index(rest, []byte(mark))
		if i < 0 {
			return append(dst, rest...)
		}
		dst = append(dst, rest[:i+len(mark)]...)
		rest = rest[i+len(mark):]
		name := bytes.IndexByte(rest, '#') + 1
		dst = fmt.Appendf(append(dst, rest[:name]...), "%d-", m.copies)
		rest = rest[name:]
	}
}
