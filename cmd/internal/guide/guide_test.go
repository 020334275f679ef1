package guide

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	pages "github.com/tablewake/tablewake/cmd/tablewake/guide"
)

var program = clitest.Program{New}

// Each file is a topic, and each topic has a title and one short sentence.
func TestTopics(t *testing.T) {
	files, err := fs.Glob(pages.Files, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	topics := topics()
	for _, file := range files {
		if !slices.Contains(topics, strings.TrimSuffix(file, ".md")) {
			t.Errorf("%s is no topic", file)
		}
	}
	out, _ := program.Run(t, cli.ExitOK, "guide")
	for _, topic := range topics {
		text, err := markdownOf(topic)
		if err != nil {
			t.Error(err)
			continue
		}
		sentence := firstSentence(text)
		if !strings.HasPrefix(text, "# ") || !strings.HasSuffix(sentence, ".") || len(sentence) > 110 {
			t.Errorf("%s: %q is no sentence for a list", topic, sentence)
		}
		if !strings.Contains(out, topic+" ") || !strings.Contains(out, sentence) {
			t.Errorf("%s is not listed:\n%s", topic, out)
		}
	}
}

// A guide is plain text: no line of it is markup, and only code and long words are wider than the text.
func TestGuide(t *testing.T) {
	for _, topic := range topics() {
		out, _ := program.Run(t, cli.ExitOK, "guide", topic)
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(strings.TrimSpace(line), "```") || strings.HasPrefix(line, "|") || link.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(line), "for ") {
				t.Errorf("%s: %q is Markdown", topic, line)
			}
			if utf8.RuneCountInString(line) > width && !strings.HasPrefix(strings.TrimLeft(line, " "), "`") && !strings.HasPrefix(line, "    ") && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: %q is wide", topic, line)
			}
		}
	}
	if _, errs := program.Run(t, cli.ExitUsage, "guide", "nothing"); !strings.Contains(errs, "there are start, concepts,") {
		t.Errorf("it says %q", errs)
	}
}

// Prose is at most 120 columns wide in Markdown.
func TestMarkdown(t *testing.T) {
	for _, topic := range pages.Topics() {
		text, err := markdownOf(topic)
		if err != nil {
			t.Fatal(err)
		}
		code := false
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			if n := utf8.RuneCountInString(line); !code && !strings.HasPrefix(line, "|") && n > 120 {
				t.Errorf("%s.md:%d: %d columns", topic, i+1, n)
			}
		}
	}
}

func TestRender(t *testing.T) {
	const markdown = `# The title

One sentence of a [link](../../../sinks/STORAGE.md#numbers), of [another guide](concepts.md#the-words), of [here](#it) and
of [keys](../../../pipeline/config/README.md#keys), [consume](consume.md#at-3-am) and
of **some** ` + "`**code**`" + `, which is longer than a line of the text.

![a picture](journey.svg)

## A part

1. First, with a second line
   below it.
   ` + "```sh" + `
   tablewake guide
   ` + "```" + `
- Then.

| a | b |
|---|--:|
| ` + "`x\\|y`" + ` | [z](https://example.com) |

| what | why | |
|---|---|---|
| a long first cell of a table that does not fit | because it is longer than the text is wide, in all of its columns | more |
| c | | |
`
	const want = `The title
=========

One sentence of a link (sinks/STORAGE.md#numbers), of another guide (` + "`tablewake guide" + `
concepts` + "`" + `), of here and of keys (` + "`tablewake guide reference`" + `), consume (` + "`tablewake guide" + `
consume` + "`" + `) and of some ` + "`**code**`" + `, which is longer than a line of the text.

(picture: a picture)

A part
------

1. First, with a second line below it.

       tablewake guide

- Then.

a      b
------------------------------
` + "`x|y`" + `  z (https://example.com)

* a long first cell of a table that does not fit
    why: because it is longer than the text is wide, in all of its columns
    more

* c
`
	if diff := cmp.Diff(want, render(markdown, "cmd/tablewake/guide")); diff != "" {
		t.Errorf("-want +rendered:\n%s", diff)
	}
}
