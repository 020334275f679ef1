package template

import "testing"

// The URL of a queue names the queue's owner, in each form that SQS has.
func TestParseAddress(t *testing.T) {
	in := func(region string) owner { return owner{Account: "123456789012", Region: region} }
	for address, want := range map[string]owner{
		"events": {},
		"arn:aws:sqs:eu-west-1:123456789012:events":                              in("eu-west-1"),
		"https://sqs.eu-west-1.amazonaws.com/123456789012/events":                in("eu-west-1"),
		"https://sqs-fips.us-east-2.amazonaws.com/123456789012/events":           in("us-east-2"),
		"https://sqs.eu-west-1.api.aws/123456789012/events":                      in("eu-west-1"),
		"https://us-east-1.queue.amazonaws.com/123456789012/events":              in("us-east-1"),
		"https://vpce-0a1b.sqs.eu-west-1.vpce.amazonaws.com/123456789012/events": in("eu-west-1"),
		"https://sqs.cn-north-1.amazonaws.com.cn/123456789012/events":            in("cn-north-1"),
		"http://localhost:9324/123456789012/events":                              {},
		"http://elasticmq:9324/123456789012/events":                              {},
		"https://queues.example.com/123456789012/events":                         {},
	} {
		if got, name := parseAddress(address); got != want || name != "events" {
			t.Errorf("%s: %+v, %s; want %+v", address, got, name, want)
		}
	}
}
