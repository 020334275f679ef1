package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// maxMapping is the maximum size of a mapping file, in bytes.
const maxMapping = 1 << 20

// readMapping reads the JSON file that v names, and returns it in compact form. It returns nil if a problem was
// reported.
func readMapping(f *yamlbind.File, v *value, parts []yamlbind.Part) any {
	path, ok := yamlbind.ReadText(f, v, parts).(string)
	if !ok {
		return nil
	}
	b, err := yamlbind.Context[*checker](f).readFile(path)
	if err != nil {
		f.Fail(v, "write its path, from the folder that this file is in", "the mapping cannot be read: %v", err)
		return nil
	}
	var object map[string]json.RawMessage
	err = json.Unmarshal(b, &object)
	if err == nil && object == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		position := ""
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			position = fmt.Sprintf(" at line %d", 1+bytes.Count(b[:e.Offset], []byte("\n")))
		}
		f.Fail(v, "write what the index API takes, as in {\"properties\": {\"Name\": {\"type\": \"text\"}}}",
			"%s is not a JSON object%s: %v", path, position, err)
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, b) != nil {
		return nil // cannot happen: the JSON was parsed above
	}
	return json.RawMessage(compact.Bytes())
}

// readFile reads a file. It returns an error if the file is not regular, or larger than maxMapping.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > maxMapping:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxMapping)
	}
	return os.ReadFile(path)
}
