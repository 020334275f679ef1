package main

import (
	"time"

	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/tablewake/internal/why"
	"github.com/tablewake/tablewake/pipeline"
)

// answer is what `why -o json` prints.
type answer struct {
	Key       pipeline.Key    `json:"key"`
	From      string          `json:"from"`
	Compared  bool            `json:"compared"`
	There     bool            `json:"there"`
	Version   string          `json:"version,omitempty"`
	Dropped   string          `json:"dropped_by,omitempty"`
	Differing int             `json:"differing"`
	Sinks     []sinkHas       `json:"sinks"`
	Letters   []letters.Shown `json:"dead_letters"`
}

type sinkHas struct {
	Sink        string     `json:"sink"`
	Kind        string     `json:"kind"`
	Says        string     `json:"says,omitempty"`
	Quarantined *time.Time `json:"quarantined_since,omitempty"`
	Places      []placeHas `json:"places,omitempty"`
}

type placeHas struct {
	Kind    string   `json:"kind"`
	Where   string   `json:"where"`
	Found   string   `json:"found"`
	Version string   `json:"version,omitempty"`
	Verdict string   `json:"verdict,omitempty"`
	Differs []string `json:"differs,omitempty"`
}

func answerOf(it seenItem, a why.Answer) answer {
	out := answer{
		Key: it.key, From: it.from, Compared: it.compared, There: !it.gone, Version: versionText(it.version),
		Dropped: a.Dropped, Sinks: []sinkHas{}, Letters: []letters.Shown{},
	}
	if it.compared {
		out.Differing = a.Differing()
	}
	for _, s := range a.Sinks {
		h := sinkHas{Sink: s.Name, Kind: s.Kind, Says: s.Says}
		if s.Held != nil {
			h.Quarantined = &s.Held.Since
		}
		for _, p := range s.Places {
			ph := placeHas{Kind: p.Kind, Where: p.Where, Found: p.Found, Version: versionText(p.Version)}
			if it.compared {
				ph.Verdict, ph.Differs = string(p.Verdict), p.Differs
			}
			h.Places = append(h.Places, ph)
		}
		out.Sinks = append(out.Sinks, h)
	}
	for _, l := range a.Letters {
		out.Letters = append(out.Letters, letters.ShownOf(l))
	}
	return out
}

func versionText(v pipeline.Version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}
