package audit

import (
	"encoding/json"

	"github.com/tablewake/tablewake/pipeline/record"
)

// findingFields is a Finding with its versions as texts.
type findingFields struct {
	plainFinding

	Version string `json:"version,omitempty"`
	Guard   string `json:"guard,omitempty"`
}

// plainFinding is Finding without its methods.
type plainFinding Finding

// MarshalJSON returns the finding as one JSON object. Its versions are the texts of record.Version.
func (f Finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(findingFields{plainFinding(f), versionText(f.Version), versionText(f.Guard)})
}

// versionText returns the text of a version; "" if there is none.
func versionText(v record.Version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

// UnmarshalJSON reads what MarshalJSON returned.
func (f *Finding) UnmarshalJSON(b []byte) error {
	var in findingFields
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*f = Finding(in.plainFinding)
	for text, v := range map[*string]*record.Version{&in.Version: &f.Version, &in.Guard: &f.Guard} {
		if *text == "" {
			continue
		}
		var err error
		if *v, err = record.ParseVersion(*text); err != nil {
			return err
		}
	}
	return nil
}
