// Package ownhost distinguishes requests that name this machine from requests of a foreign web page. With DNS
// rebinding, the name of a web page resolves to the address of this machine, so the page could read answers in the
// user's browser. The Host of such a request is still the name of the page.
package ownhost

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Is reports whether the Host of a request names this machine. It does if it is localhost, a loopback address, the
// local address of the connection, or listen. listen is the host part of the listen address, and may be "".
func Is(r *http.Request, listen string) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	isListen := listen != "" && strings.EqualFold(host, listen)
	if isListen || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.Unmap().IsLoopback() {
		return true
	}
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && addr.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

// Part returns the host part of a listen address; "" if the address has only a port.
func Part(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	return host
}

// Loopback reports whether a listener has a loopback address, which only this machine can reach.
func Loopback(l net.Listener) bool {
	addr, ok := l.Addr().(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// Forbid answers a request for which Is returned false.
func Forbid(w http.ResponseWriter) {
	http.Error(w, "the Host of this request is not this machine's: ask 127.0.0.1, or the address that is listened on",
		http.StatusForbidden)
}
