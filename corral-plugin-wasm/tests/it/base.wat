;; Epsilon-greedy over arms: explores with probability 0.1, plays the arm of the smallest mean loss otherwise. `twin.rs` is the same
;; in Rust. Tests put hostile code at the comments that begin with `;;@`.
(module
  ;;@ first
  (type $u32 (func (param i32) (result i32)))
  (type $u64 (func (param i32) (result i64)))
  (type $bytes (func (param i32 i32 i32)))
  ;; The stack is below 65536, as the linker's --stack-first has it.
  (memory (export "memory") 2)
  (global $sp (export "__stack_pointer") (mut i32) (i32.const 65536))
  (table (export "__indirect_function_table") 12 funcref)
  (elem (i32.const 1) $create $propose $learn $rerange $likelihood $yes $pass $entry)

  (data (i32.const 65536)
    "CRRLBAS1" "\68\00\00\00" "\00\00\00\00"                ;; magic, struct_size, abi_minor
    "\01\00\00\00" "\00\00\00\00" "\00\00\00\00\00\00\f8\7f" ;; kind, padding, alpha
    "\00\02\01\00" "\06\00\00\00"                            ;; name
    "\10\02\01\00" "\0e\00\00\00"                            ;; description
    "\20\02\01\00" "\05\00\00\00"                            ;; version
    "\01\00\00\00" "\00\00\00\00" "\02\00\00\00" "\03\00\00\00" "\04\00\00\00" "\00\00\00\00" "\00\00\00\00"
    "\00\00\00\00" "\05\00\00\00" "\06\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (data (i32.const 66048) "greedy") ;; 0x10200
  (data (i32.const 66064) "epsilon-greedy")
  (data (i32.const 66080) "0.1.0")
  (data (i32.const 66096) "at most 64 arms")
  (data (i32.const 66112) "not an arm")

  ;; At 66560: the number of arms. At 66624: the mean losses, 64 of 8 bytes. At 67136: how many were seen, 64 of 8 bytes.

  (func $entry (export "corral_plugin_v1") (param $index i32) (result i32)
    ;;@ entry
    (select (i32.const 65536) (i32.const 0) (i32.eqz (local.get $index))))

  (func $fail (param $error i32) (param $text i32) (param $len i32) (result i32)
    (memory.copy (i32.load (local.get $error)) (local.get $text) (local.get $len))
    (i32.store offset=8 (local.get $error) (local.get $len))
    (i32.const 1))

  (func $create (param $setup i32) (param $params i32) (param $instance i32) (param $error i32) (result i32)
    (local $arms i32)
    ;;@ create
    (local.set $arms (i32.load offset=4 (local.get $setup)))
    (if (i32.gt_u (local.get $arms) (i32.const 64))
      (then (return (call $fail (local.get $error) (i32.const 66096) (i32.const 15)))))
    (i32.store (i32.const 66560) (local.get $arms))
    (i32.store (local.get $instance) (i32.const 66560))
    (i32.const 0))

  (func $playable (param $context i32) (result i32) (local $offered i32)
    (local.set $offered (i32.load offset=20 (local.get $context)))
    (select (local.get $offered) (i32.load (i32.const 66560))
      (i32.lt_u (local.get $offered) (i32.load (i32.const 66560)))))

  (func $best (param $playable i32) (result i32) (local $best i32) (local $arm i32)
    (loop $next
      (if (f64.lt (f64.load offset=66624 (i32.shl (local.get $arm) (i32.const 3)))
                  (f64.load offset=66624 (i32.shl (local.get $best) (i32.const 3))))
        (then (local.set $best (local.get $arm))))
      (local.set $arm (i32.add (local.get $arm) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $arm) (local.get $playable))))
    (local.get $best))

  (func $probability (param $playable i32) (param $arm i32) (result f64) (local $spread f64)
    (local.set $spread (f64.div (f64.const 0.1) (f64.convert_i32_u (local.get $playable))))
    (if (result f64) (i32.eq (local.get $arm) (call $best (local.get $playable)))
      (then (f64.add (f64.sub (f64.const 1) (f64.const 0.1)) (local.get $spread)))
      (else (local.get $spread))))

  (func $uniform (param $rng i32) (result f64)
    (f64.mul (f64.const 0x1p-53) (f64.convert_i64_u (i64.shr_u
      (call_indirect (type $u64) (i32.load (local.get $rng)) (i32.load offset=8 (local.get $rng)))
      (i64.const 11)))))

  (func $propose (param $this i32) (param $context i32) (param $rng i32) (param $made i32) (param $error i32) (result i32)
    (local $playable i32)
    ;;@ propose
    (local.set $playable (call $playable (local.get $context)))
    (i32.store (local.get $made) (if (result i32) (f64.lt (call $uniform (local.get $rng)) (f64.const 0.1))
      (then (i32.trunc_f64_u (f64.mul (call $uniform (local.get $rng)) (f64.convert_i32_u (local.get $playable)))))
      (else (call $best (local.get $playable)))))
    (f64.store (i32.load offset=16 (local.get $made)) (call $probability (local.get $playable) (i32.load (local.get $made))))
    (i32.store offset=24 (local.get $made) (i32.const 1))
    ;;@ proposed
    (i32.const 0))

  (func $learn (param $this i32) (param $context i32) (param $made i32) (param $loss f64) (param $weight f64) (param $error i32)
    (result i32) (local $at i32) (local $seen i64) (local $mean f64)
    ;;@ learn
    (if (i32.ge_u (i32.load (local.get $made)) (i32.load (i32.const 66560)))
      (then (return (call $fail (local.get $error) (i32.const 66112) (i32.const 10)))))
    (if (f64.gt (local.get $weight) (f64.const 0)) (then
      (local.set $at (i32.shl (i32.load (local.get $made)) (i32.const 3)))
      (local.set $seen (i64.add (i64.load offset=67136 (local.get $at)) (i64.const 1)))
      (local.set $mean (f64.load offset=66624 (local.get $at)))
      (i64.store offset=67136 (local.get $at) (local.get $seen))
      (f64.store offset=66624 (local.get $at) (f64.add (local.get $mean)
        (f64.div (f64.sub (local.get $loss) (local.get $mean)) (f64.convert_i64_u (local.get $seen)))))))
    (i32.const 0))

  (func $rerange (param $this i32) (param $range f64) (param $remaining i64) (param $error i32) (result i32)
    (memory.fill (i32.const 66624) (i32.const 0) (i32.const 1024))
    (i32.const 0))

  (func $likelihood (param $this i32) (param $context i32) (param $asked i32) (param $answer i32) (param $made i32) (param $error i32)
    (result i32) (local $playable i32)
    ;;@ likelihood
    (local.set $playable (call $playable (local.get $context)))
    (if (i32.ge_u (i32.load (local.get $asked)) (local.get $playable)) (then (return (i32.const 3))))
    (f64.store (local.get $answer) (call $probability (local.get $playable) (i32.load (local.get $asked))))
    (f64.store (i32.load offset=16 (local.get $made)) (f64.load (local.get $answer)))
    (i32.store offset=24 (local.get $made) (i32.const 1))
    (i32.const 0))

  (func $yes (param $this i32) (result i32) (i32.const 1))

  (func $pass (param $this i32) (param $context i32) (param $error i32) (result i32) (i32.const 0))
)
