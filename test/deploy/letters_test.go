package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// places are the keys of a configuration that say where changes are stored.
type places struct {
	DeadLetters struct{ Bucket, Queue string } `yaml:"dead_letters"`
	Sinks       map[string]struct{ Archive struct{ Bucket string } }
}

// fallback matches a reference to the environment with a default.
var fallback = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)

// shared returns the sink whose archive uses the bucket of dead letters, or "" if there is none. It compares the names
// in the file and their defaults.
func (p places) shared() string {
	names := func(s string) string { return fallback.ReplaceAllString(s, "$1") }
	letters := p.DeadLetters
	for sink, s := range p.Sinks {
		switch {
		case s.Archive.Bucket == "":
		case names(letters.Bucket) == names(s.Archive.Bucket), letters.Queue != "" && letters.Bucket == "":
			return sink
		}
	}
	return ""
}

func TestSharedBucketsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"dead_letters: {bucket: a}\nsinks: {log: {archive: {bucket: b}}}":                         "",
		"dead_letters: {bucket: a}\nsinks: {log: {archive: {bucket: a}}}":                         "log",
		"dead_letters: {bucket: '${X:-a}'}\nsinks: {log: {archive: {bucket: '${Y:-a}'}}}":         "log",
		"dead_letters: {queue: q}\nsinks: {rows: {view: {}}, log: {archive: {bucket: a}}}":        "log",
		"dead_letters: {queue: q, bucket: b}\nsinks: {log: {archive: {bucket: a, prefix: dead}}}": "",
	} {
		var p places
		if err := yaml.Unmarshal([]byte(text), &p); err != nil || p.shared() != want {
			t.Errorf("%s: %q, %v, want %q", text, p.shared(), err, want)
		}
	}
}

// Dead letters hold whole and unmasked changes, and expire. So no example stores them in the bucket of an archive.
// Files below testdata and test that only tests read may do so.
func TestLettersHaveABucketOfTheirOwn(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		example := strings.HasPrefix(rel, "pipeline/config/testdata/examples") || strings.HasPrefix(rel, "test/fixtures") || strings.HasPrefix(rel, "test/outside")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !example && (strings.Contains(rel, "testdata/") || strings.HasPrefix(rel, "test/")):
			return nil
		}
		var texts []string
		switch filepath.Ext(path) {
		case ".yaml":
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts = append(texts, string(b))
		case ".md":
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range block.FindAllStringSubmatch(string(b), -1) {
				texts = append(texts, m[1])
			}
		}
		for _, text := range texts {
			var p places
			if !strings.Contains(text, "dead_letters:") || yaml.Unmarshal([]byte(text), &p) != nil {
				continue
			}
			seen++
			if sink := p.shared(); sink != "" {
				t.Errorf("%s: dead letters go to the bucket of the archive %s", rel, sink)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 6 {
		t.Errorf("%d examples with dead letters were read", seen)
	}
}

// Each bucket of raw changes in a template expires the changes and their versions. Each queue keeps its messages for
// the longest possible time.
func TestRawChangesExpire(t *testing.T) {
	buckets := map[string][]string{"template.yaml": {"Letters", "FailedBatches"}, service: {"Letters"}, "cmd/internal/template/testdata/shop.template.yaml": {"FailedBatches"}}
	for file, names := range buckets {
		s := readStack(t, file)
		for _, name := range names {
			versioned := s.find(t, name+".VersioningConfiguration.Status") == "Enabled"
			expires := false
			for _, r := range s.find(t, name+".LifecycleConfiguration.Rules").([]any) {
				r := r.(map[string]any)
				days, _ := r["ExpirationInDays"].(int)
				older, _ := r["NoncurrentVersionExpiration"].(map[string]any)
				left, _ := older["NoncurrentDays"].(int)
				expires = expires || r["Status"] == "Enabled" && r["Prefix"] == nil && days > 0 && days <= 90 && (!versioned || left > 0 && left <= 7)
			}
			if !expires {
				t.Errorf("%s: the bucket %s keeps raw changes, or versions of them", file, name)
			}
		}
		for name, r := range s.Resources {
			if r.Type == "AWS::SQS::Queue" && r.Properties["MessageRetentionPeriod"] != 1209600 {
				t.Errorf("%s: the queue %s keeps its messages for %v s", file, name, r.Properties["MessageRetentionPeriod"])
			}
		}
	}
	// Older letters would be refused, because the state has forgotten the versions that they would be compared with.
	for _, file := range []string{"template.yaml", service} {
		if days := readStack(t, file).find(t, "Letters.LifecycleConfiguration.Rules.0.ExpirationInDays"); days != 30 {
			t.Errorf("%s: letters expire after %v days, and guard_retention is 30", file, days)
		}
	}
}
