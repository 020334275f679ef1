package audit

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// Each kind of a member gives its own value, and a member of an unknown kind gives none.
func TestMemberValues(t *testing.T) {
	attributes := make(map[string]item.Value)
	var members []state.Member
	for name, kind := range map[string]state.MemberKind{
		"least": state.Min, "greatest": state.Max, "different": state.Distinct, "unknown": state.Distinct + 1,
	} {
		for _, value := range []string{"a2", "a1", "a3", "a1"} {
			members = append(members, state.Member{Name: name, Kind: kind, Value: value})
		}
	}
	addMemberValues(attributes, members)
	want := map[string]string{"least": `"1"`, "greatest": `"3"`, "different": "3"}
	for name, json := range want {
		if got := string(attributes[name].AppendJSON(nil)); got != json {
			t.Errorf("%s is %s, want %s", name, got, json)
		}
	}
	if len(attributes) != len(want) {
		t.Errorf("attributes %v", attributes)
	}
}
