package indexmap_test

import (
	"encoding/json"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config/indexmap"
)

// A file without settings or without mappings has empty ones. OpenSearch refuses null.
func TestParse_NeitherIsNil(t *testing.T) {
	for _, file := range []string{``, `{}`, `{"properties":{}}`, `{"settings":{}}`, `{"mappings":{}}`, `{"mappings":{"dynamic":false}}`} {
		settings, mappings, err := indexmap.Parse(json.RawMessage(file))
		if err != nil || settings == nil || mappings == nil {
			t.Errorf("%s: settings %v, mappings %v, %v", file, settings, mappings, err)
		}
	}
}
