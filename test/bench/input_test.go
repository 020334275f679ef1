package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// All four forms of a file give the same records.
func TestInputForms(t *testing.T) {
	s := usual().expiring()
	event, n := s.event(0)
	var records struct{ Records []json.RawMessage }
	if err := json.Unmarshal(event, &records); err != nil || n != 100 {
		t.Fatal(n, err)
	}
	array, err := json.MarshalIndent(records.Records, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, r := range records.Records {
		lines.Write(r)
		lines.WriteByte('\n')
	}
	var streams strings.Builder
	streams.WriteString(`{"NextShardIterator":"next","Records":[`)
	for i := range n {
		if i > 0 {
			streams.WriteByte(',')
		}
		s.at(i).appendStreams(&streams, i)
	}
	streams.WriteString("]}")
	for name, text := range map[string][]byte{"event": event, "array": array, "lines": lines.Bytes(), "answer": []byte(streams.String())} {
		in, err := parseInput(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if in.n != n {
			t.Errorf("%s: %d records, want %d", name, in.n, n)
			continue
		}
		again, _ := in.event(0)
		if !bytes.Equal(again, event) {
			t.Errorf("%s: brings another event than it was made of:\n%s\n%s", name, again[:300], event[:300])
		}
	}
}

func TestInputErrors(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":        "",
		"no JSON":        `{"Records":[`,
		"no record":      `{"a":1}`,
		"empty":          `{"Records":[]}`,
		"record without": `[{"eventName":"INSERT","dynamodb":{}}]`,
	} {
		if s, err := parseInput("file", []byte(text)); err == nil {
			t.Errorf("%s: brings %d records", name, s.n)
		} else if !strings.HasPrefix(err.Error(), "file: ") {
			t.Errorf("%s: %v does not name the file", name, err)
		}
	}
}

// Decoders accept both forms of every shape. The sizes are those that are documented.
func TestShapes(t *testing.T) {
	all, err := shapes()
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]int{"usual": 1350, "small": 250, "large": 95_000, "400 attributes": 20_000, "shop": 500}
	most := map[string]int{"usual": 1600, "small": 360, "large": 105_000, "400 attributes": 30_000, "shop": 1500}
	for _, s := range append(all, four()) {
		event, n := s.event(0)
		var e events.DynamoDBEvent
		if err := json.Unmarshal(event, &e); err != nil || len(e.Records) != n || len(event) > eventBytes {
			t.Errorf("%s: an event of %d bytes has %d records, want %d: %v", s.name, len(event), len(e.Records), n, err)
		}
		body, records := s.page(0)
		answer, err := record.NewDecoder(record.DecoderOptions{StreamARN: streamARN}).DecodeGetRecords(body)
		if err != nil || len(answer.Page.Errors) > 0 || len(answer.Page.Changes) != records {
			t.Errorf("%s: a page has %d changes and %d errors, want %d: %v", s.name, len(answer.Page.Changes), len(answer.Page.Errors), records, err)
			continue
		}
		if answer.Ended || len(body) > pageBytes || len(body) < pageBytes/3 {
			t.Errorf("%s: a page of %d bytes, ended %t", s.name, len(body), answer.Ended)
		}
		if size := len(body) / records; s.name != "four changed" && (size < least[s.name] || size > most[s.name]) {
			t.Errorf("%s: %d bytes a record", s.name, size)
		}
		c := &answer.Page.Changes[0]
		changed := map[string]int{"usual": 1, "large": 2, "400 attributes": 1, "four changed": 4}
		if got := len(item.Diff(c.Old, c.New)); changed[s.name] > 0 && got != changed[s.name] {
			t.Errorf("%s: %d values changed", s.name, got)
		}
		attributes := map[string]int{"usual": 13, "four changed": 13, "400 attributes": 400, "small": 2}
		if want := attributes[s.name]; want > 0 && c.New.Len() != want {
			t.Errorf("%s: %d attributes, want %d", s.name, c.New.Len(), want)
		}
	}
}

// No order of the usual records repeats the order before. So a copy of the former result would not help a decoder.
func TestUsualItemsDiffer(t *testing.T) {
	s := usual()
	same, all := 0, 0
	for i := range 500 {
		a, b := changeOf(t, s.at(i)), changeOf(t, s.at(i+1))
		for name, v := range a.New.All() {
			w, _ := b.New.Get(name)
			all++
			if v.Equal(w) {
				same++
			}
		}
	}
	// Equal are Type, Status, Currency and Coupon, and sometimes Paid, Note and Tags.
	if same*10 > all*5 {
		t.Errorf("%d of %d attributes are those of the record before", same, all)
	}
}

func changeOf(t *testing.T, r savedRecord) *record.Change {
	t.Helper()
	var b strings.Builder
	r.appendLambda(&b, 0)
	page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte("[" + b.String() + "]"))
	if err != nil || len(page.Changes) != 1 {
		t.Fatal(err, page.Errors)
	}
	return &page.Changes[0]
}
