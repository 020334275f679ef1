package sample

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
)

// readLines adds the items of a file, or of the files in a folder, with one item per line. If path has no items, it
// probably has records. readLines then returns it in unreadPaths.
func (sample *Sample) readLines(path string) (unreadPaths []string, err error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		hasItems, err := sample.readItemsOrAnswer(path)
		if !hasItems {
			unreadPaths = append(unreadPaths, path)
		}
		return unreadPaths, err
	}
	itemsBefore := len(sample.Items)
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		isFull := len(sample.Items) >= maxItems
		if err != nil || !d.Type().IsRegular() || isFull {
			return err
		}
		f, in, err := openUnzipped(name)
		if err != nil {
			return err
		}
		defer f.Close()
		_, _, err = sample.readItems(name, in)
		return err
	})
	if err == nil && len(sample.Items) == itemsBefore {
		unreadPaths = append(unreadPaths, path)
	}
	return unreadPaths, err
}

// readItemsOrAnswer adds the items of a file that has one item per line, or an answer of Scan or Query.
func (sample *Sample) readItemsOrAnswer(path string) (hasItems bool, err error) {
	f, in, err := openUnzipped(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	hasItems, otherLine, err := sample.readItems(path, in)
	if otherLine != nil {
		return sample.readAnswer(path, otherLine, in)
	}
	return hasItems, err
}

// openUnzipped opens a file. in reads the contents, and unzips them if they are gzip. The caller closes f.
func openUnzipped(path string) (f *os.File, in *bufio.Reader, err error) {
	if f, err = os.Open(path); err != nil {
		return nil, nil, err
	}
	in = bufio.NewReaderSize(f, 1<<20)
	if head, _ := in.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return f, in, nil
	}
	plain, err := gzip.NewReader(in)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, bufio.NewReaderSize(plain, 1<<20), nil
}

// readItems adds the items of a file with one item per line. hasItems is false if the file has none. If its first line
// is not an item, readItems ends, and returns that line as otherLine. Any later line must be an item.
func (sample *Sample) readItems(path string, in *bufio.Reader) (hasItems bool, otherLine []byte, err error) {
	var readErr error
	for n := 1; readErr == nil && len(sample.Items) < maxItems; n++ {
		var line []byte
		line, readErr = in.ReadBytes('\n')
		if readErr != nil && !pipeline.IsEnd(readErr) {
			return hasItems, nil, fmt.Errorf("%s: %w", path, readErr)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		image, err := parseLine(line)
		switch {
		case err == nil:
			sample.Items = append(sample.Items, image)
			hasItems = true
		case hasItems:
			return true, nil, fmt.Errorf("%s:%d: it is not an item in DynamoDB JSON: %w", path, n, err)
		default:
			return false, line, nil
		}
	}
	return hasItems, nil, nil
}

// parseLine returns the line as an item, or the item in the line of an export. The line of a full export is {"Item":…}.
// The line of an incremental export has Metadata and Keys, and the images that exist.
func parseLine(line []byte) (item.Image, error) {
	var export struct{ Item, NewImage, OldImage, Keys, Metadata json.RawMessage }
	if json.Unmarshal(line, &export) != nil {
		return item.Parse(line)
	}
	startsWithItem := bytes.Contains(line[:min(len(line), 16)], []byte(`"Item"`)) // json also takes "item" for it
	switch {
	case export.Metadata != nil && export.Keys != nil: // a deletion in an incremental export has no new image
		for _, image := range []json.RawMessage{export.NewImage, export.OldImage, export.Keys} {
			if image != nil {
				return item.Parse(image)
			}
		}
	case export.Item != nil && startsWithItem:
		if m, err := item.Parse(export.Item); err == nil {
			return m, nil
		}
	}
	return item.Parse(line)
}

// maxAnswer is the maximum size of a file with an answer of Scan, in bytes.
const maxAnswer = 256 << 20

// readAnswer adds the items of a file that is an answer of Scan or Query. line is its first line, and rest the others.
func (sample *Sample) readAnswer(path string, line []byte, rest io.Reader) (hasItems bool, err error) {
	if line[0] != '{' {
		return false, nil
	}
	all, err := io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(line), rest), maxAnswer+1))
	switch {
	case err != nil:
		return false, fmt.Errorf("%s: %w", path, err)
	case len(all) > maxAnswer:
		return false, fmt.Errorf(
			"%s: its first line is not an item, and it is larger than %d MiB, the largest answer of Scan that is read", path,
			maxAnswer>>20)
	}
	var answer map[string]json.RawMessage
	if json.Unmarshal(all, &answer) != nil {
		return false, nil //nolint:nilerr // the file has no items, but probably records
	}
	var items []json.RawMessage
	if json.Unmarshal(answer["Items"], &items) != nil {
		return false, plainJSONError(path, answer)
	}
	for i, text := range items[:min(len(items), maxItems-len(sample.Items))] {
		m, err := item.Parse(text)
		if err != nil {
			return true, fmt.Errorf("%s: Items[%d] is not an item in DynamoDB JSON: %w", path, i, err)
		}
		sample.Items = append(sample.Items, m)
	}
	return true, nil
}

// plainJSONError returns an error if a document is an item in plain JSON, as the AWS console shows items; else nil.
func plainJSONError(path string, document map[string]json.RawMessage) error {
	if len(document) == 0 {
		return nil
	}
	for name, v := range document {
		if name == "Records" || name == "eventID" || v[0] == '{' {
			return nil
		}
	}
	return fmt.Errorf(
		`%s:1: it is an item in plain JSON, which has no types: write DynamoDB JSON, as in {"PK": {"S": "USER#1"}}`, path)
}
