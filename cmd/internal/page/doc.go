// Package page is the status page for browsers. `consume` serves the page at / of its health address, and
// `status --serve` serves it at an address of its own.
//
// What it promises:
//
//   - It only reads. No request changes anything, and every path accepts only GET.
//   - It shows only a [Status], which /status returns as JSON. Unknown values are shown as unknown, never as zero.
//     Counts are exact. It shows names, numbers and redacted errors, but no items and no keys of items.
//   - Each panel says whether it is about this process or about all consumers.
//   - The server renders everything with html/template. The browser loads one stylesheet, one script and one icon from
//     the same address, and nothing from elsewhere; the Content-Security-Policy allows no more.
//   - Server-sent events with rendered parts keep the page up to date. Without JavaScript the page reloads itself.
//     Updates and reloads can be paused.
//   - It is smaller than 1 MB. If there are thousands of shards, it lists the worst ones and only counts the rest.
//   - It costs nothing while no browser shows it, because [ReportCache] reads the shared state of all consumers on
//     demand.
//
// newView (template_data.go) makes the template's data from a Status, and newHeadline (headline.go) makes the first
// sentence. Page (page.go) serves the page, and server_sent_events.go streams its changes. report_page_server.go is the
// server of `status --serve`.
package page
