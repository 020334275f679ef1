package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// multiplied is a source of n records. It repeats the records of the fixture, each time with other partition keys.
type multiplied struct {
	lines  [][]byte // records of the fixture
	left   int
	copies int // number of copies that are complete
	next   int // index of the next line
	dec    *record.Decoder
	page   int
}

func newMultiplied(file string, n int) (*multiplied, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return &multiplied{lines: lines, left: n, dec: record.NewDecoder(record.DecoderOptions{})}, nil
}

// Read returns a page of about a mebibyte. The workers of the pipeline decode the page.
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
		Page:      record.Page{Bytes: len(b)},
		Decode:    func() (*record.Page, error) { return m.dec.DecodeLines(b), nil },
	}, nil
}

// marks are the beginnings of values that differ between copies: partition keys, unique identifiers of orders, and
// e-mail addresses of users.
var marks = [][]byte{[]byte(`"PK":{"S":"`), []byte(`"SK":{"S":"ORDER#`), []byte(`"Email":{"S":"`)}

// appendRecord appends the next record. It adds the number of the copy to the partition key, the order and the e-mail
// address, wherever they occur.
func (m *multiplied) appendRecord(dst []byte) []byte {
	rest, number := m.lines[m.next], m.copies
	if m.next++; m.next == len(m.lines) {
		m.next, m.copies = 0, m.copies+1
	}
	for {
		at := -1
		for _, mark := range marks {
			i := bytes.Index(rest, mark)
			isFirst := at < 0 || i+len(mark) < at
			if i >= 0 && isFirst {
				at = i + len(mark)
			}
		}
		if at < 0 {
			return append(dst, rest...)
		}
		if name := bytes.IndexAny(rest[at:], `#"`); rest[at+name] == '#' {
			at += name + 1 // after USER#
		}
		dst = fmt.Appendf(append(dst, rest[:at]...), "%d-", number)
		rest = rest[at:]
	}
}
