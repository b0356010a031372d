//! The player against the browser's clock.

use crate::frame;
use mqscope_web::player::Player;
use mqscope_web::preset;
use wasm_bindgen_test::wasm_bindgen_test;

fn player() -> Player {
    Player::new(preset::first().base.clone()).expect("the first preset runs")
}

fn clock() -> f64 {
    web_sys::window().and_then(|w| w.performance()).expect("a clock").now()
}

/// Plays for so many frames; gives the wall time that passed, ms.
async fn play(player: &mut Player, frames: usize) -> f64 {
    player.set_playing(true);
    let (start, mut last) = (clock(), clock());
    for _ in 0..frames {
        frame().await;
        let now = clock();
        player.tick(now - last);
        last = now;
    }
    player.set_playing(false);
    last - start
}

#[wasm_bindgen_test]
async fn simulated_time_follows_the_wall_clock_at_its_speed() {
    let mut player = player();
    player.set_clock(clock);
    player.set_speed(100_000.0);
    let wall_ms = play(&mut player, 30).await;
    let due = wall_ms / 1e3 * 100_000.0;
    let ratio = player.now_ns() as f64 / due;
    assert!((0.9..1.1).contains(&ratio), "{} ns played where {due} ns were due", player.now_ns());

    let stands = player.now_ns();
    player.tick(50.0);
    assert_eq!(player.now_ns(), stands, "a paused player stands");
}

#[wasm_bindgen_test]
async fn played_frame_by_frame_or_sought_at_once_is_the_same_state() {
    let mut played = player();
    played.set_clock(clock);
    played.set_speed(2_000_000.0);
    play(&mut played, 20).await;
    // A frame that is late ends between two events of one nanosecond.
    played.seek(played.now_ns());
    let mut sought = player();
    sought.seek(played.now_ns());
    assert_eq!((sought.now_ns(), sought.state_hash()), (played.now_ns(), played.state_hash()));
    assert_eq!(sought.scene().live_len(), played.scene().live_len());
}

#[wasm_bindgen_test]
fn a_step_back_undoes_a_step() {
    let mut player = player();
    player.seek(300_000);
    player.step_event();
    let here = (player.now_ns(), player.position(), player.scene().live_len());
    player.step_event();
    assert_ne!(player.position(), here.1);
    player.step_back();
    assert_eq!((player.now_ns(), player.position(), player.scene().live_len()), here);
}

#[wasm_bindgen_test]
fn a_policy_change_is_met_again_after_going_back() {
    let mut player = player();
    player.seek(400_000);
    player.apply_from_now(preset::first().sides[1].knobs());
    player.seek(900_000);
    let changed = player.state_hash();
    player.seek(100_000);
    player.seek(900_000);
    assert_eq!(player.state_hash(), changed);

    let mut unchanged = self::player();
    unchanged.seek(900_000);
    assert_ne!(unchanged.state_hash(), changed, "the change matters");
}
