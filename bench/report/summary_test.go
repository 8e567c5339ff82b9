package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/servers"
)

func TestSummary(t *testing.T) {
	calls := map[string]int{clients.Cupule: 10, clients.CupuleTyped: 30, clients.Floor: 20, clients.SDK: 40, clients.MCPGo: 100}
	tables := []table{
		{ID: "inbound", Columns: []column{
			contest("1 caller", map[string]int{servers.Cupule: 12, servers.CupuleTyped: 1, servers.Floor: 10, servers.FloorGathered: 30, servers.NetRPC: 24, servers.GRPC: 48}),
			contest("8 callers", map[string]int{servers.Cupule: 12, servers.Floor: 30, servers.FloorGathered: 20, servers.NetRPC: 60, servers.GRPC: 48}),
			contest("64 callers", map[string]int{servers.Cupule: 12, servers.Floor: 12, servers.NetRPC: 12}),
		}},
		{ID: "payload", Columns: []column{
			contest("20 KB", map[string]int{servers.Cupule: 20, servers.Floor: 40, servers.NetRPC: 40, servers.GRPC: 10}),
			contest("1 MB", map[string]int{servers.Cupule: 40, servers.Floor: 40, servers.NetRPC: 40, servers.GRPC: 10}),
		}},
		{ID: "outbound", Columns: []column{contest("1 caller", calls)}},
		{ID: "onecall", Columns: []column{contest("1 caller", map[string]int{
			clients.CupuleOneCall: 100, clients.FloorOneCall: 80, clients.FloorBehind: 50, clients.SDKOneCall: 400, clients.MCPGoOneCall: 200})}},
		{ID: "large 1 MiB", Columns: []column{contest("1 MiB", calls)}},
		{ID: "large 1 MiB-http", Columns: []column{contest("1 MiB", map[string]int{clients.Cupule: 30, clients.CupuleTyped: 60, clients.Floor: 20, clients.SDK: 40})}},
		{ID: "whole", Columns: []column{contest("1 caller", map[string]int{servers.CupuleGateway: 30, direct: 10, servers.SDKProxy: 110})}},
	}
	want := []string{
		"**Serving** 200 bytes over a unix socket takes 1.20x, 0.60x and 1.00x as long as the faster of two hand-written loops, and 0.50x, 0.25x and 1.00x as long as the fastest library (1 caller, 8 callers and 64 callers).",
		"**Serving larger messages** takes 0.50x to 1.00x as long as the faster of these loops, and 2.00x to 4.00x as long as the fastest library, which is grpc-go.",
		"**Calling a tool** of a child in a session that lasts takes 0.50x as long as a hand-written client, and 0.25x as long as the fastest library, which decodes the result; with Cupule's decoded, too, 1.50x and 0.75x (1 caller).",
		"**Starting a child for one call** takes 1.25x as long as by hand with a wait for the child's end, 2.00x as long as by hand with the end behind the caller's back, as Cupule's is, and 0.50x as long as the fastest library, which waits.",
		"**Getting a large result** takes 0.50x to 1.50x as long as a hand-written client, and 0.25x to 0.75x as long as the fastest library; decoded, 1.50x to 3.00x and 0.75x to 1.50x.",
		"**A gateway** before a child adds 20 us to a call, and one made of go-sdk's server and client 100 us (1 caller).",
	}
	if diff := cmp.Diff(want, summary(tables)); diff != "" {
		t.Error(diff)
	}
	if got := summary(tables[:1]); len(got) != 1 || len(summary(nil)) > 0 {
		t.Errorf("of one table %q, of none %q", got, summary(nil))
	}
	page, _ := published(t, reportOf(settings{}, tables...))
	if first := strings.Index(page, want[0]); first < 0 || first > strings.Index(page, "| --- |") {
		t.Error("the page doesn't begin with it")
	}
}
