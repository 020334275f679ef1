package sample

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/item"
)

// readLines adds the items of a file, or of the files in a folder, with one item per line. A path without items
// probably has records.
func (sample *Sample) readLines(path string) (hasItems bool, err error) {
	if path == "-" {
		return false, nil
	}
	files, err := inputs.List([]string{path})
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if len(sample.Items) >= maxItems {
			break
		}
		fileHasItems, err := sample.readFile(f)
		if err != nil {
			return false, err
		}
		hasItems = hasItems || fileHasItems
	}
	return hasItems, nil
}

// readFile adds the items of a file that has one item per line. A file that is named may also have an answer of Scan or
// Query.
func (sample *Sample) readFile(f inputs.File) (hasItems bool, err error) {
	content, err := openFile(f.Path)
	if err != nil {
		return false, err
	}
	defer content.Close()
	in := bufio.NewReaderSize(content, 1<<20)
	hasItems, otherLine, err := sample.readItems(f.Path, in)
	if otherLine != nil && f.Named {
		return sample.readAnswer(f.Path, otherLine, in)
	}
	return hasItems, err
}

// openFile opens the decompressed content of a file.
func openFile(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := inputs.Decompress(path, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}

// readItems adds the items of a file with one item per line. hasItems is false if the file has none. If its first line
// is not an item, readItems ends, and returns that line as otherLine. Any later line must be an item. The last one may
// be cut, because a sample may be a part of a file.
func (sample *Sample) readItems(path string, in *bufio.Reader) (hasItems bool, otherLine []byte, err error) {
	var readErr error
	for n := 1; readErr == nil && len(sample.Items) < maxItems; n++ {
		var line []byte
		line, readErr = in.ReadBytes('\n')
		isEnd := pipeline.IsEnd(readErr) || errors.Is(readErr, inputs.ErrCut)
		if readErr != nil && !isEnd {
			return hasItems, nil, fmt.Errorf("%s: %w", path, readErr)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		image, err := parseLine(line)
		isCut := isEnd && inputs.CheckEnd(line) != nil
		switch {
		case err == nil:
			sample.Items = append(sample.Items, image)
			hasItems = true
		case !hasItems:
			return false, line, nil
		case !isCut:
			return true, nil, fmt.Errorf("%s:%d: it is not an item in DynamoDB JSON: %w", path, n, err)
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
	isIncremental := export.Metadata != nil && export.Keys != nil
	// encoding/json ignores case, so export.Item may be the attribute item of an item.
	startsWithItem := bytes.Contains(line[:min(len(line), 16)], []byte(`"Item"`))
	switch {
	case isIncremental && export.NewImage != nil:
		return item.Parse(export.NewImage)
	case isIncremental && export.OldImage != nil: // a deletion
		return item.Parse(export.OldImage)
	case isIncremental: // a deletion in an export without old images
		return item.Parse(export.Keys)
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
	case err != nil && !errors.Is(err, inputs.ErrCut):
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
		isRecord, mayHaveType := name == "Records" || name == "eventID", v[0] == '{'
		if isRecord || mayHaveType {
			return nil
		}
	}
	return fmt.Errorf(
		`%s:1: it is an item in plain JSON, which has no types: write DynamoDB JSON, as in {"PK": {"S": "USER#1"}}`, path)
}
