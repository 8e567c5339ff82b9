// Package strictjson judges JSON texts from peers that may be broken or hostile, without
// building values from them.
//
// encoding/json is generous: it replaces invalid UTF-8, keeps the last of two equal keys,
// and matches keys without regard to case. Two programs that are generous in different
// ways read one message differently, and a gate that reads it one way protects nothing
// that reads it another way. Here a text has one reading or is refused:
//
//	if err := strictjson.Valid(data, 64); err != nil {
//		return err // at byte 17: a string holds invalid UTF-8
//	}
//	if at, found := strictjson.DuplicateKey(data); found {
//		return fmt.Errorf("%s stands twice", at) // /params/limit
//	}
//	for m := range strictjson.Members(data) {
//		fmt.Printf("%s is a %s\n", m.Key, strictjson.KindOf(m.Value))
//	}
//
// [Valid] accepts exactly the grammar of RFC 8259 in valid UTF-8. The escape of a lone
// surrogate, such as "\ud800", is in that grammar and accepted; like encoding/json,
// [AppendUnescaped] turns it into U+FFFD, and keys are compared in that form, so that two
// keys which some reader would confuse count as equal.
//
// # Cost
//
// One pass, no recursion, and no allocation for a valid text; strings are read eight bytes
// at a time. [DuplicateKey] allocates nothing for objects of up to 16 keys and nesting of up
// to 8; larger objects go into a table with a random seed, so that chosen keys
// can't make it slow. All functions are pure and safe for concurrent use.
package strictjson
