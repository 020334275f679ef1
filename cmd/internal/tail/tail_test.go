package tail

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/sinks"
)

const shop = `version: 1
name: shop
source: {table: shop}
hmac_key: '${TABLEWAKE_HMAC_KEY}'
sensitive: [Email]
entities:
  User: {key: {PK: 'USER#{UserId}', SK: PROFILE}}
  Order: {key: {PK: 'USER#{UserId}', SK: 'ORDER#{OrderId}'}, attributes: {Status: S}}
sinks:
  log: {archive: {bucket: b, prefix: p/, masked: true}}
`

// loaded writes text into a configuration file and loads the file.
func loaded(t *testing.T, text string) *config.Config {
	t.Helper()
	t.Setenv("TABLEWAKE_HMAC_KEY", "a-secret-of-the-test")
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := cli.LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// tailed runs a tail with these options. It returns what the tail printed to standard output and to standard error, and
// the exit code. write changes the table while the tail runs. The tail is stopped a minute later.
func tailed(
	t *testing.T, cfg *config.Config, o options, write func(*streamtest.Server),
) (stdout, stderr string, code int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		ref := shardreader.StreamFromARN(server.AddStream("shop").ARN())
		put(t, server, "USER#0", "PROFILE", `"Email":{"S":"canary@x"}`)
		time.Sleep(time.Hour)
		p, err := o.printer(cfg, cfg.Source.Tables[0])
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var out, errs bytes.Buffer
		done := make(chan struct{})
		go func() {
			defer close(done)
			err = printNewRecords(ctx, cli.Streams{Out: &out, Err: &errs}, sdk.New(client(server), sinks.Decoder(cfg)), ref, p)
		}()
		synctest.Wait()
		write(server)
		time.Sleep(time.Minute)
		stop()
		<-done
		if err != nil {
			code = cli.ExitCode(err)
			errs.WriteString(err.Error())
		}
		stdout, stderr = out.String(), errs.String()
	})
	return stdout, stderr, code
}

// client returns a client of the server, which runs in this process.
func client(server *streamtest.Server) *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: &http.Client{Transport: server}, RetryMaxAttempts: 1,
	})
}

// put writes an item into the table shop.
func put(t *testing.T, server *streamtest.Server, pk, sk, attributes string) {
	t.Helper()
	key := `"PK":{"S":"` + pk + `"},"SK":{"S":"` + sk + `"}`
	if _, err := server.Table("shop").Put("{" + key + "," + attributes + "}"); err != nil {
		t.Fatal(err)
	}
}

// orders returns a function that writes users and orders.
func orders(t *testing.T) func(*streamtest.Server) {
	return func(server *streamtest.Server) {
		put(t, server, "USER#1", "PROFILE", `"Email":{"S":"canary@x"}`)
		put(t, server, "USER#1", "ORDER#7", `"Status":{"S":"paid"}`)
		time.Sleep(2 * time.Second)
		put(t, server, "USER#1", "PROFILE", `"Email":{"S":"canary@y"}`)
		put(t, server, "USER#1", "ORDER#7", `"Status":{"S":"shipped"}`)
		put(t, server, "USER#2", "ORDER#8", `"Status":{"S":"paid"}`)
		put(t, server, "OTHER", "X", `"Status":{"S":"?"}`)
		if _, err := server.Table("shop").Expire(`{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#7"}}`); err != nil {
			t.Error(err)
		}
	}
}

var (
	sequence = regexp.MustCompile(`  sequence \d+`)
	masked   = regexp.MustCompile(`masked-[0-9a-f]{12}`)
)

func TestTail(t *testing.T) {
	cfg := loaded(t, shop)
	stdout, stderr, code := tailed(t, cfg, options{format: cli.FormatText}, orders(t))
	want := `#1 INSERT USER%231,PROFILE  2000-01-01T01:00:00Z
  entity  User
#2 INSERT USER%231,ORDER%237  2000-01-01T01:00:00Z
  entity  Order
#3 MODIFY USER%231,PROFILE  2000-01-01T01:00:02Z
  entity  User
  change  Email: "MASKED" -> "MASKED"
#4 MODIFY USER%231,ORDER%237  2000-01-01T01:00:02Z
  entity  Order
  change  Status: "paid" -> "shipped"
#5 INSERT USER%232,ORDER%238  2000-01-01T01:00:02Z
  entity  Order
#6 INSERT OTHER,X  2000-01-01T01:00:02Z
  entity  none
#7 REMOVE USER%231,ORDER%237 (expired)  2000-01-01T01:00:02Z
  entity  Order
`
	if diff := cmp.Diff(want, masked.ReplaceAllString(sequence.ReplaceAllString(stdout, ""), "MASKED")); diff != "" {
		t.Errorf("a tail (-want +got):\n%s", diff)
	}
	if want := "table shop, 1 shard: what is written from now on; Ctrl-C ends it\n"; stderr != want || code != cli.ExitOK {
		t.Errorf("it says %q and ends with %d", stderr, code)
	}
}

func TestTail_Selects(t *testing.T) {
	cfg := loaded(t, shop)
	for name, tt := range map[string]struct {
		o    options
		want string // numbers of the changes
		code int
	}{
		"an entity":           {options{of: []string{"Order"}}, "2 4 5 7", cli.ExitOK},
		"two entities":        {options{of: []string{"Order", "User"}}, "1 2 3 4 5 7", cli.ExitOK},
		"a partition":         {options{key: "PK=USER#1"}, "1 2 3 4 7", cli.ExitOK},
		"an item":             {options{key: "PK=USER#1,SK=PROFILE"}, "1 3", cli.ExitOK},
		"a canonical key":     {options{key: "USER%231,PROFILE"}, "1 3", cli.ExitOK},
		"both":                {options{key: "PK=USER#1", of: []string{"User"}}, "1 3", cli.ExitOK},
		"two changes":         {options{limit: 2}, "1 2", cli.ExitOK},
		"more than there are": {options{of: []string{"User"}, limit: 3}, "1 3", cli.ExitInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, code := tailed(t, cfg, tt.o, orders(t))
			var got []string
			for _, m := range regexp.MustCompile(`(?m)^#(\d+) `).FindAllStringSubmatch(stdout, -1) {
				got = append(got, m[1])
			}
			if strings.Join(got, " ") != tt.want || code != tt.code {
				t.Errorf("it shows %v and ends with %d, want %s and %d", got, code, tt.want, tt.code)
			}
		})
	}
}

// tail refuses an attribute that is not a key of the table, because tail would wait for it forever.
func TestTail_NoKey(t *testing.T) {
	cfg := loaded(t, shop)
	for key, want := range map[string]string{
		"Status=paid": "Status is not a key attribute of the table, whose key is PK, SK",
		"pk=USER#1":   "pk is not a key attribute of the table, whose key is PK, SK",
		"foo":         "foo is not a key of the table, whose key is PK, SK",
	} {
		o := options{key: key}
		if _, err := o.printer(cfg, cfg.Source.Tables[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--key %s: %v", key, err)
		}
	}
}

func TestTail_JSON(t *testing.T) {
	cfg := loaded(t, shop)
	stdout, _, _ := tailed(t, cfg, options{format: cli.FormatJSON, key: "PK=USER#1,SK=ORDER#7", limit: 2}, orders(t))
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	want := `"time":"2000-01-01T01:00:02Z","entity":{"name":"Order"},` +
		`"diff":[{"path":"Status","old":{"S":"paid"},"new":{"S":"shipped"}}]}`
	if len(lines) != 2 || !strings.HasSuffix(lines[1], want) {
		t.Errorf("%s\nwant, at its end, %s", stdout, want)
	}
}

// A record that cannot be decoded is shown masked, and the tail continues.
func TestTail_Undecodable(t *testing.T) {
	cfg := loaded(t, strings.Replace(shop, "[Email]", "[Email, PK]", 1))
	stdout, _, code := tailed(t, cfg, options{}, func(server *streamtest.Server) {
		st := server.Table("shop").Stream()
		const key, item = `{"PK":{"S":"canary"}}`, `{"PK":{"S":"canary"},"Total":{"N":"canary"}}`
		st.Put(st.Shards()[0], streamtest.Record{Keys: key, New: item})
		put(t, server, "canary", "PROFILE", `"Email":{"S":"canary"}`)
	})
	if !strings.HasPrefix(stdout, "#1 UNDECODABLE masked-") || !strings.Contains(stdout, "\n#2 INSERT masked-") ||
		strings.Contains(stdout, "canary") || code != cli.ExitOK {
		t.Errorf("it ends with %d and shows\n%s", code, stdout)
	}
}

// Fact 8: a shard has at most two readers. So a tail ends at the first throttle, and makes no further call.
func TestFact8_TailEndsAtTheFirstThrottle(t *testing.T) {
	cfg := loaded(t, shop)
	for _, throttle := range []string{
		"LimitExceededException", "ProvisionedThroughputExceededException", "ThrottlingException",
	} {
		calls, server := 0, (*streamtest.Server)(nil)
		stdout, stderr, code := tailed(t, cfg, options{}, func(s *streamtest.Server) {
			server = s
			put(t, s, "USER#1", "PROFILE", `"Email":{"S":"x"}`)
			time.Sleep(10 * time.Second)
			calls = s.Calls("GetRecords")
			s.Fail("GetRecords", streamtest.Fault{Code: throttle})
		})
		const want = "and a consumer of it is slowed too: a shard has at most two readers, "
		if !strings.Contains(stdout, "#1 INSERT") || !strings.Contains(stderr, want) || code != cli.ExitFailure {
			t.Errorf("after a %s it ends with %d: %s%s", throttle, code, stdout, stderr)
		}
		if more := server.Calls("GetRecords") - calls; more != 1 {
			t.Errorf("%d calls, and the first one had a %s", more, throttle)
		}
	}
}

// A tail repeats calls that fail in other ways. It ends at the end of a stream that is disabled.
func TestTail_ToTheEndOfADisabledStream(t *testing.T) {
	stdout, stderr, code := tailed(t, loaded(t, shop), options{}, func(server *streamtest.Server) {
		server.Fail("GetRecords", streamtest.Faults()["internal"], streamtest.Faults()["cut"], streamtest.Faults()["reset"])
		put(t, server, "USER#1", "PROFILE", `"Email":{"S":"x"}`)
		server.Table("shop").Stream().Disable()
	})
	ended := strings.HasSuffix(stderr, " is disabled, and read to its end\n")
	if !strings.Contains(stdout, "#1 INSERT") || !ended || code != cli.ExitOK {
		t.Errorf("it ends with %d: %s%s", code, stdout, stderr)
	}
}
