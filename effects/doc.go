// Package effects decides what a call may do.
//
// An operator declares the effects of everything that can be called; an [Invocation] says
// on whose behalf a call runs; [Decide] compares the two. It is the only place where that
// is decided, for calls that come in (operations) and calls that go out (tools, resources,
// prompts and the transports that reach them).
//
//	annotate := effects.Subject{
//		Kind:    effects.Tool,
//		Name:    "research-tools/annotate",
//		Effects: effects.NewSet(effects.Mutation),
//	}
//	caller := effects.NewInvocation(effects.Authority{
//		Principal:  "dashboard",
//		Authorized: effects.NewSet(effects.Inference),
//	})
//	fmt.Println(effects.Decide(annotate, caller))
//	// denied: tool research-tools/annotate has the effect mutation, which the caller is not authorized for
//
// # The rules
//
//   - network_read is denied when the invocation is offline;
//   - mutation and inference need authorization for exactly that effect;
//   - credentials and process are never available;
//   - Streamable HTTP is unavailable offline, loopback included;
//   - inside an operation, an effect that the operation did not declare is denied,
//     whatever authority its caller holds ([Invocation.Within]);
//   - a caller with a list of operations may call no other.
//
// Every rule that denies a call is reported, in a fixed order, with the place where the
// effect was declared. The zero [Decision] denies, the zero [Subject] is denied, and the
// zero [Invocation] is online with nothing authorized.
//
// Everything here is a value: no I/O, no clock, no state, safe for concurrent use. The
// package imports the standard library only and builds for wasip1.
package effects
