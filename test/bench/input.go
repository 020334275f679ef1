package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// inputRecord is a record in the form of a Lambda event or of a GetRecords answer.
type inputRecord struct {
	EventID      string
	EventName    string
	UserIdentity *struct{ Type, PrincipalID string } // json ignores the case of names
	Dynamodb     struct {
		ApproximateCreationDateTime json.RawMessage
		Keys, OldImage, NewImage    json.RawMessage
		SequenceNumber              string
	}
}

// readInput makes a shape of the records in a file. The file is a Lambda event, a GetRecords answer, a JSON array or
// JSON lines of records.
func readInput(file string) (*shape, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseInput(file, b)
}

func parseInput(file string, b []byte) (*shape, error) {
	var records []savedRecord
	in := json.NewDecoder(bytes.NewReader(b))
	for {
		var next json.RawMessage
		err := in.Decode(&next)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			records, err = appendInput(records, next)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: before byte %d: %w", file, in.InputOffset(), err)
		}
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s: it holds no record", file)
	}
	return &shape{
		name: "input", note: fmt.Sprintf("the %s records of %s, over and over", figure(float64(len(records))), filepath.Base(file)),
		of: func(i int) savedRecord { return records[i] }, n: len(records),
	}, nil
}

// appendInput adds the records of one JSON value in a file: a record, an array of records, or an object with such an
// array.
func appendInput(dst []savedRecord, b []byte) ([]savedRecord, error) {
	var some []inputRecord
	if b[0] == '[' {
		if err := json.Unmarshal(b, &some); err != nil {
			return dst, err
		}
	} else {
		var envelope struct{ Records *[]inputRecord }
		if err := json.Unmarshal(b, &envelope); err != nil {
			return dst, err
		}
		if envelope.Records != nil {
			some = *envelope.Records
		} else {
			some = make([]inputRecord, 1)
			if err := json.Unmarshal(b, &some[0]); err != nil {
				return dst, err
			}
		}
	}
	for _, in := range some {
		r, err := in.record()
		if err != nil {
			return dst, err
		}
		dst = append(dst, r)
	}
	return dst, nil
}

// record returns the record with JSON as compact as the services write it.
func (in inputRecord) record() (savedRecord, error) {
	r := savedRecord{Event: in.EventName, ID: in.EventID, Sequence: in.Dynamodb.SequenceNumber}
	for _, part := range []struct {
		from json.RawMessage
		to   *string
	}{{in.Dynamodb.Keys, &r.Keys}, {in.Dynamodb.OldImage, &r.Old}, {in.Dynamodb.NewImage, &r.New}, {in.Dynamodb.ApproximateCreationDateTime, &r.Created}} {
		if len(part.from) == 0 || string(part.from) == "null" {
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, part.from); err != nil {
			return r, err
		}
		*part.to = compact.String()
	}
	if r.Event == "" || r.Keys == "" {
		return r, errors.New("no record of a stream: it has no eventName, or no keys")
	}
	if id := in.UserIdentity; id != nil && r.Event == "REMOVE" && id.Type == "Service" && id.PrincipalID == "dynamodb.amazonaws.com" {
		r.TTL = true
	}
	return r, nil
}
