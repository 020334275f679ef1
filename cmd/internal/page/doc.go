// Package page is the status page for browsers: `consume` serves it at / of its health address, `status --serve` at an
// address of its own.
//
// What it promises:
//
//   - It only reads. No request changes anything, and all paths answer GET alone.
//   - It shows a [Status], which /status answers as JSON: nothing else. What is unknown says so, and is never zero.
//     Counts are exact. It shows names, numbers and redacted errors; it shows no item, and no key of one.
//   - Each panel says whether it is about this process or about all consumers.
//   - The server renders everything with html/template. The browser loads one stylesheet, one script and one icon from
//     the same address, and nothing from elsewhere; the Content-Security-Policy allows no more.
//   - It is live by server-sent events, which carry rendered parts. Without JavaScript it loads itself again.
//     Both can be paused.
//   - It is small, below 1 MB: of thousands of shards it shows the worst, and counts the others in folds.
//   - Nobody who does not look at it costs anything: [Looks] reads what all consumers share only while somebody asks.
//
// newView (view.go) makes the template's data from a Status; newHeadline (headline.go) makes the first sentence. Page
// (page.go) serves the page, events.go streams it, and serve.go is the server of `status --serve`.
package page
