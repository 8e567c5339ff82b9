package mcpclient

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/registry"
)

const acknowledgement = `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["docs://a"]}}}` + "\n\n"

// replies answers the request for a stream with this member instead.
func replies(member string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, r.Header.Get("Id"), member)
	}
}

// acknowledges agrees to tell of docs://a, for this long.
func acknowledges(d time.Duration) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, acknowledgement)
		stays(d)(w, r)
	}
}

// TestListensAgain has servers of the newest protocol end the stream of changed lists.
func TestListensAgain(t *testing.T) {
	type list = []func(http.ResponseWriter, *http.Request)
	for _, row := range []struct {
		name    string
		actions list
		want    []string // in the first two minutes
	}{
		{"stays", list{stays(forever)}, []string{"0s"}},
		{"knows no such method", list{replies(`"error":{"code":-32601,"message":"no"}`)}, []string{"0s"}},
		{"unknown", list{status(404)}, []string{"0s"}},
		{"forbidden", list{status(403)}, []string{"0s"}},
		{"HTML", list{status(200, "Content-Type", "text/html")}, []string{"0s"}},
		{"wants input", list{replies(`"result":{"resultType":"input_required"}`)}, []string{"0s"}},
		{"ends it", list{replies(`"result":{}`), replies(`"result":{}`), replies(`"result":{}`), stays(forever)}, []string{"0s", "1s", "3s", "7s"}},
		{"breaks it", list{says(news), says(""), stays(forever)}, []string{"0s", "1s", "3s"}},
		{"is overloaded", list{status(503, "Retry-After", "12"), status(429, "Retry-After", "3600"), stays(forever)}, []string{"0s", "12s", "42s"}},
		{"always ends it", list{replies(`"result":{}`)}, []string{"0s", "1s", "3s", "7s", "15s", "31s", "1m1s", "1m31s"}},
		{"lasts", list{says(""), says(""), stays(40 * time.Second), stays(40 * time.Second), stays(forever)}, []string{"0s", "1s", "3s", "44s", "1m25s"}},
		{"refuses later", list{says(""), replies(`"error":{"code":-32601,"message":"no"}`)}, []string{"0s", "1s"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &streaming{protocol: modern, actions: row.actions}
				session, _ := connectInMemory(t, s)
				time.Sleep(2*time.Minute - 1)
				synctest.Wait()
				if diff := cmp.Diff(row.want, s.when()); diff != "" {
					t.Error(diff)
				}
				began := time.Now()
				_ = session.client.Close()
				if took := time.Since(began); took != 0 {
					t.Errorf("Close took %v", took)
				}
				time.Sleep(2 * time.Minute)
				if n := len(s.when()); n != len(row.want) {
					t.Errorf("asked %d times after the end", n-len(row.want))
				}
			})
		})
	}
}

// TestWatchesAgain has a server end the stream of a resource, which it has agreed to tell of: it is
// asked again until nobody wants to know.
func TestWatchesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streaming{protocol: modern, actions: []func(http.ResponseWriter, *http.Request){
			replies(`"error":{"code":-32601,"message":"no lists"}`),
			replies(`"result":{}`), // not acknowledged
			acknowledges(0), status(503), acknowledges(40 * time.Second), says(""), acknowledges(0),
		}}
		session, _ := connectInMemory(t, s)
		defer session.client.Close()
		synctest.Wait()
		wantKind(t, session.SubscribeResource(t.Context(), "docs://a", nobody), registry.KindUpstreamError, registry.Completed)
		if err := session.SubscribeResource(t.Context(), "docs://a", nobody); err != nil {
			t.Fatal(err)
		}
		time.Sleep(49 * time.Second)
		synctest.Wait()
		want := []string{"0s", "0s", "0s", "1s", "3s", "44s", "46s"}
		if diff := cmp.Diff(want, s.when()); diff != "" {
			t.Error(diff)
		}
		if err := session.UnsubscribeResource(t.Context(), "docs://a", nobody); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		if n := len(s.when()); n != len(want) || len(session.live().watches) != 0 {
			t.Errorf("asked %d times, %v are watched", n, session.live().watches)
		}
	})
}
