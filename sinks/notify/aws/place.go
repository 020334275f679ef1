package aws

import (
	"net/url"
	"strings"
)

// queuePlace is what the name of a queue says.
type queuePlace struct {
	name    string
	url     string // "" where it has to be asked for
	region  string // "" where it is the client's
	account string // "" where it is the client's
}

// placeOf reads a queue's URL, ARN or name. A URL is
// https://sqs.REGION.amazonaws.com/ACCOUNT/NAME; a host that is not of AWS says
// nothing of a Region.
func placeOf(queue string) queuePlace {
	if p := strings.SplitN(queue, ":", 6); len(p) == 6 && p[0] == "arn" {
		return queuePlace{name: p[5], region: p[3], account: p[4]}
	}
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" {
		return queuePlace{name: queue}
	}
	place := queuePlace{name: queue[strings.LastIndexByte(queue, '/')+1:], url: queue}
	host := strings.Split(u.Hostname(), ".")
	if !strings.Contains(u.Hostname(), ".amazonaws.") && !strings.HasSuffix(u.Hostname(), ".api.aws") {
		return place
	}
	for i, l := range host[:len(host)-1] {
		switch {
		case l == "sqs" || l == "sqs-fips":
			place.region = host[i+1]
		case l == "queue" && i == 1: // the older form
			place.region = host[0]
		}
	}
	return place
}

// regionOf is the Region that an ARN names, "" of anything else.
func regionOf(arn string) string {
	if p := strings.SplitN(arn, ":", 6); len(p) == 6 && p[0] == "arn" {
		return p[3]
	}
	return ""
}
