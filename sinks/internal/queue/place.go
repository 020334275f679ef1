// Package queue reads the names of SQS queues.
package queue

import (
	"net/url"
	"strings"
)

// Place is what the name of a queue says.
type Place struct {
	Name    string
	URL     string // "" where it has to be asked for
	Region  string // "" where it is the client's
	Account string // "" where it is the client's
}

// PlaceOf reads a queue's URL, ARN or name. A URL is
// https://sqs.REGION.amazonaws.com/ACCOUNT/NAME; a host that is not of AWS says
// nothing of a Region.
func PlaceOf(queue string) Place {
	if p := strings.SplitN(queue, ":", 6); len(p) == 6 && p[0] == "arn" {
		return Place{Name: p[5], Region: p[3], Account: p[4]}
	}
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" {
		return Place{Name: queue}
	}
	place := Place{Name: queue[strings.LastIndexByte(queue, '/')+1:], URL: queue}
	host := strings.Split(u.Hostname(), ".")
	if !strings.Contains(u.Hostname(), ".amazonaws.") && !strings.HasSuffix(u.Hostname(), ".api.aws") {
		return place
	}
	for i, l := range host[:len(host)-1] {
		switch {
		case l == "sqs" || l == "sqs-fips":
			place.Region = host[i+1]
		case l == "queue" && i == 1: // the older form
			place.Region = host[0]
		}
	}
	return place
}
