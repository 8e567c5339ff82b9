// Package clients holds the MCP clients that are measured, each in the ways that a user
// would have of it: a session that lasts, and a session for every call.
package clients

import (
	"fmt"
	"sync"

	"github.com/cupule/cupule/bench/internal/echo"
)

// Target is the server to call: a child to start, or an endpoint. One of them is empty.
type Target struct {
	Child string
	URL   string
	// Size asks for a result of so many bytes of text; zero echoes 200 bytes.
	Size int
}

// EchoSize is the payload of an echo.
const EchoSize = 200

// Client is one contestant.
type Client struct {
	Name string
	// Open begins; call makes one call and verifies its answer.
	Open func(Target) (call func() error, closing func() error, err error)
	// OverStdio says that the client is for children alone.
	OverStdio bool
}

// Names of the contestants that others are compared with.
const (
	Cupule        = "cupule, raw result"
	CupuleTyped   = "cupule, typed result"
	CupuleShared  = "cupule, session: shared"
	CupulePinned  = "cupule, protocol of the hand-written client"
	CupuleOneCall = "cupule, one operation"
	CupuleWarm    = "cupule, warm spare"
	Floor         = "hand-written client"
	FloorOneCall  = "hand-written, one call"
	FloorBehind   = "hand-written, one call, ended behind"
	SDK           = "go-sdk CallTool"
	SDKOneCall    = "go-sdk, one call"
	MCPGo         = "mcp-go CallTool"
	MCPGoOneCall  = "mcp-go, one call"
)

// All returns every contestant.
func All() []Client {
	return []Client{
		{Name: Cupule, Open: openCupule("", rawResult)},
		{Name: CupuleTyped, Open: openCupule("", typedResult)},
		{Name: CupuleShared, Open: callCupule(shared)},
		{Name: CupulePinned, Open: openCupule(pinned, rawResult)},
		{Name: Floor, Open: openFloor},
		{Name: SDK, Open: openSDK},
		{Name: MCPGo, Open: openMCPGo},
		{Name: CupuleOneCall, Open: callCupule("")},
		{Name: FloorOneCall, Open: eachTime(openFloor)},
		{Name: FloorBehind, OverStdio: true, Open: endedBehind(openFloor)},
		{Name: SDKOneCall, Open: eachTime(openSDK)},
		{Name: MCPGoOneCall, Open: eachTime(openMCPGo)},
		{Name: CupuleWarm, OverStdio: true, Open: callCupule(warm)},
	}
}

// Find returns the contestant of this name.
func Find(name string) (Client, error) {
	for _, c := range All() {
		if c.Name == name {
			return c, nil
		}
	}
	return Client{}, fmt.Errorf("there is no client %q", name)
}

type opener func(Target) (call func() error, closing func() error, err error)

// eachTime opens and closes around every call.
func eachTime(open opener) opener {
	return func(t Target) (func() error, func() error, error) {
		call := func() error {
			call, closing, err := open(t)
			if err != nil {
				return err
			}
			if err := call(); err != nil {
				_ = closing()
				return err
			}
			return closing()
		}
		return call, func() error { return nil }, nil
	}
}

// endedBehind is eachTime for a caller who doesn't wait for the end.
func endedBehind(open opener) opener {
	return func(t Target) (func() error, func() error, error) {
		var ends sync.WaitGroup
		call := func() error {
			call, closing, err := open(t)
			if err != nil {
				return err
			}
			err = call()
			ends.Go(func() { _ = closing() })
			return err
		}
		return call, func() error { ends.Wait(); return nil }, nil
	}
}

// tool returns the tool to call, its arguments, and the text that it must bring back.
func (t Target) tool() (name string, args any, want string) {
	if t.Size > 0 {
		return "big", echo.Size{Size: t.Size}, echo.Text(t.Size)
	}
	return "echo", echo.Params{Text: echo.Text(EchoSize)}, echo.Text(EchoSize)
}
