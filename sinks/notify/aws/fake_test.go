package aws_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/sinks/internal/awstest"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/aws"
)

// verdict is the answer of a fake about one message. The code is an error code, or "" if the fake accepts the message,
// or "-" if the answer does not contain the message. sender reports whether the error is the sender's fault.
type verdict struct {
	code   string
	sender bool
}

// fake is the batch call of one of the services, with failures that no emulator has.
type fake struct {
	judge func(id string) verdict
	whole func(ids []string) string // error code that refuses a whole call; "" or nil: the call is not refused

	mu     sync.Mutex
	calls  []string // the ids of each call
	taken  []string
	bodies map[string]string // by id
}

// see records a message and returns its id.
func (f *fake) see(body string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bodies == nil {
		f.bodies = map[string]string{}
	}
	id := idOf(body)
	f.bodies[id] = body
	return id
}

// ask records a call. It returns the error code that refuses the whole call, or the verdicts about its messages.
func (f *fake) ask(ids []string) (refused string, vs []verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(ids, " "))
	if f.whole != nil {
		if code := f.whole(ids); code != "" {
			return code, nil
		}
	}
	for _, id := range ids {
		v := verdict{}
		if f.judge != nil {
			v = f.judge(id)
		}
		if vs = append(vs, v); v.code == "" {
			f.taken = append(f.taken, id)
		}
	}
	return "", vs
}

func idOf(body string) string {
	e, err := event(body)
	if err != nil {
		panic(err)
	}
	return e.ID
}

// fakes contains functions that open a store on a fake, by the name of the service.
var fakes = map[string]func(t testing.TB, f *fake) notify.Store{
	"queue": func(t testing.TB, f *fake) notify.Store {
		client := sqs.NewFromConfig(awstest.Offline(func(op string, r *http.Request, body []byte, _ func([]byte) (*http.Response, error)) (*http.Response, error) {
			if op != "SendMessageBatch" {
				return awstest.Answer(r, 200, "application/x-amz-json-1.0", "{}"), nil
			}
			var in struct {
				Entries []struct {
					ID          string `json:"Id"`
					MessageBody string
				}
			}
			if err := json.Unmarshal(body, &in); err != nil {
				return nil, err
			}
			var ids []string
			for _, e := range in.Entries {
				ids = append(ids, f.see(e.MessageBody))
			}
			code, vs := f.ask(ids)
			if code != "" {
				return awstest.Refuse(r, 400, code), nil
			}
			out := map[string][]map[string]any{"Successful": {}, "Failed": {}}
			for i, v := range vs {
				switch v.code {
				case "":
					out["Successful"] = append(out["Successful"], map[string]any{"Id": in.Entries[i].ID, "MessageId": "m"})
				case "-":
				default:
					out["Failed"] = append(out["Failed"], map[string]any{"Id": in.Entries[i].ID, "Code": v.code, "SenderFault": v.sender, "Message": "canary"})
				}
			}
			b, err := json.Marshal(out)
			return awstest.Answer(r, 200, "application/x-amz-json-1.0", string(b)), err
		}), func(o *sqs.Options) { o.DisableMessageChecksumValidation = true })
		return must(aws.NewQueue(t.Context(), aws.QueueOptions{Client: client, Queue: "https://sqs.us-east-1.amazonaws.com/1/test"}))(t)
	},
	"topic": func(t testing.TB, f *fake) notify.Store {
		client := sns.NewFromConfig(awstest.Offline(func(op string, r *http.Request, body []byte, _ func([]byte) (*http.Response, error)) (*http.Response, error) {
			if op != "PublishBatch" {
				return awstest.Answer(r, 200, "text/xml", "<GetTopicAttributesResponse><GetTopicAttributesResult/></GetTopicAttributesResponse>"), nil
			}
			form, err := url.ParseQuery(string(body))
			if err != nil {
				return nil, err
			}
			var ids []string
			for i := 1; form.Has(entry(i, "Id")); i++ {
				ids = append(ids, f.see(form.Get(entry(i, "Message"))))
			}
			code, vs := f.ask(ids)
			if code != "" {
				return awstest.Answer(r, 400, "text/xml", "<ErrorResponse><Error><Code>"+code+"</Code><Message>canary</Message></Error></ErrorResponse>"), nil
			}
			type member struct {
				ID          string `xml:"Id"`
				Code        string
				SenderFault bool
			}
			var out struct {
				XMLName    xml.Name `xml:"PublishBatchResponse"`
				Successful []member `xml:"PublishBatchResult>Successful>member"`
				Failed     []member `xml:"PublishBatchResult>Failed>member"`
			}
			for i, v := range vs {
				m := member{form.Get(entry(i+1, "Id")), v.code, v.sender}
				switch v.code {
				case "":
					out.Successful = append(out.Successful, m)
				case "-":
				default:
					out.Failed = append(out.Failed, m)
				}
			}
			b, err := xml.Marshal(out)
			return awstest.Answer(r, 200, "text/xml", string(b)), err
		}))
		return must(aws.NewTopic(t.Context(), aws.TopicOptions{Client: client, Topic: "arn:aws:sns:us-east-1:1:test"}))(t)
	},
	"bus": func(t testing.TB, f *fake) notify.Store {
		client := eventbridge.NewFromConfig(awstest.Offline(func(op string, r *http.Request, body []byte, _ func([]byte) (*http.Response, error)) (*http.Response, error) {
			if op != "PutEvents" {
				return awstest.Answer(r, 200, "application/x-amz-json-1.1", "{}"), nil
			}
			var in struct{ Entries []struct{ Detail string } }
			if err := json.Unmarshal(body, &in); err != nil {
				return nil, err
			}
			var ids []string
			for _, e := range in.Entries {
				ids = append(ids, f.see(e.Detail))
			}
			code, vs := f.ask(ids)
			if code != "" {
				return awstest.Refuse(r, 400, code), nil
			}
			var out struct{ Entries []map[string]any }
			for _, v := range vs {
				switch v.code {
				case "":
					out.Entries = append(out.Entries, map[string]any{"EventId": "e"})
				case "-": // the answer has fewer entries than the request
				default:
					out.Entries = append(out.Entries, map[string]any{"ErrorCode": v.code, "ErrorMessage": "canary"})
				}
			}
			b, err := json.Marshal(out)
			return awstest.Answer(r, 200, "application/x-amz-json-1.1", string(b)), err
		}))
		return must(aws.NewBus(t.Context(), aws.BusOptions{Client: client, Bus: "test"}))(t)
	},
}

func entry(i int, name string) string {
	return fmt.Sprintf("PublishBatchRequestEntries.member.%d.%s", i, name)
}
