package audit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// findingFields is a Finding with its versions as texts.
type findingFields struct {
	plainFinding

	Version string `json:"version,omitempty"`
	Guard   string `json:"guard,omitempty"`
}

// plainFinding is Finding without its methods.
type plainFinding Finding

// MarshalJSON returns the finding as one JSON object. It writes the versions as the texts of record.Version.
func (f Finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(findingFields{plainFinding(f), versionText(f.Version), versionText(f.Guard)})
}

// versionText returns the text of a version; "" for the zero version.
func versionText(v record.Version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

// UnmarshalJSON reads the JSON object that MarshalJSON returned.
func (f *Finding) UnmarshalJSON(b []byte) error {
	var in findingFields
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*f = Finding(in.plainFinding)
	var err error
	if f.Version, err = parseVersion(in.Version); err != nil {
		return err
	}
	if f.Guard, err = parseVersion(in.Guard); err != nil {
		return err
	}
	return f.check()
}

// parseVersion is the inverse of versionText.
func parseVersion(text string) (record.Version, error) {
	if text == "" {
		return record.Version{}, nil
	}
	return record.ParseVersion(text)
}

// check returns an error if no audit of this version of the program could have made the finding.
func (f *Finding) check() error {
	if !slices.Contains(verdicts, f.Verdict) {
		return errs.Errorf("the verdict %q is unknown: audit again", f.Verdict)
	}
	if f.Underlying != "" && !slices.Contains(verdicts, f.Underlying) {
		return errs.Errorf("the verdict %q is unknown: audit again", f.Underlying)
	}
	switch f.Kind {
	case "", Guard, Contribution, Document:
		return nil
	case Row, Claim, Owner, Group:
		row, _, _ := strings.Cut(f.Place, " ") // after the row, a claim has the key of its item
		if _, _, err := state.Row(row).Decode(); err != nil {
			return errs.Errorf("the place %q is not that of a %s: %w", f.Place, redact.Safe(f.Kind), err)
		}
		return nil
	default:
		return errs.Errorf("the kind %q is unknown: audit again", f.Kind)
	}
}

// verdicts has all verdicts.
var verdicts = []Verdict{Equal, Missing, Extra, Stale, Wrong, Waiting, Held, Busy, Skipped}
