package lambda

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/test/e2e/world"
)

// A function can read its configuration from an object of a bucket.
func TestConfigurationInABucket(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	key := "conf/tablewake.yaml"
	if _, err := s3.NewFromConfig(w.SDK).PutObject(t.Context(), &s3.PutObjectInput{Bucket: &w.Bucket, Key: &key, Body: strings.NewReader(items)}); err != nil {
		t.Fatal(err)
	}
	w.Worker(t, w.Config(t, world.Fixture, items, w.To), w.To)
	f := deploy(t, w, "no configuration", deployment{without: true, env: []string{"TABLEWAKE_CONFIG=s3://" + w.Bucket + "/" + key}})
	f.text = items
	f.answers(t, event(product(1, "a")), succeeded)
	f.holds(t, "a", "a", 1, 0)
}

// A function that lacks something fails before it takes an event. Its log says what to do.
func TestWhatIsMissingAtTheStart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"tables":         {items, "does not exist"},
		"a sound file":   {strings.Replace(items, "attributes:", "attribute:", 1), "tablewake.yaml:8:"},
		"lasting places": {strings.Replace(items, "{bucket: '${BUCKET}', prefix: dead/}", "{dir: /tmp/dead}", 1), "write dead_letters.bucket or dead_letters.queue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := deploy(t, world.New(t, world.Running(t)), tt.text, deployment{without: true})
			f.fails(t, event(product(1, "a")), "Runtime.InitError", "")
			if log := f.Log(); !strings.Contains(log, "the function cannot start") || !strings.Contains(log, tt.want) {
				t.Errorf("the log does not say %q", tt.want)
			}
		})
	}
}
