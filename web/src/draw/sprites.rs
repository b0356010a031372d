//! Requests in motion: every live request has a place it belongs to (from layout and scene) and a place where it is
//! drawn, which follows in screen time. Plain numbers; tested without a browser.

/// Corners of a way at most.
const LEGS_MAX: usize = 5;
/// Time in which all but a third of a way is made when nothing hurries, ms.
pub const TRAVEL_MS: f32 = 110.0;
/// Faster than this, ways are cut short: requests go straight and leave at once.
const HURRY_MS: f32 = 45.0;
/// Slowest travel, pixels per second.
const SPEED_MIN: f32 = 90.0;
/// How long a request that has left fades, ms.
const FADE_MS: f32 = 260.0;
/// How long a new one takes to appear, ms.
const APPEAR_MS: f32 = 120.0;
/// Nearer than this to the radius it should have, it has it, pixels.
const RADIUS_STEP: f32 = 0.05;
/// Fading ones at most.
const LEAVING_MAX: usize = 256;

/// Where a request belongs and how large it is drawn there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// The point.
    pub at: (f32, f32),
    /// Radius of a plain request.
    pub radius: f32,
}

/// A request as the caller wants it drawn.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Which request or bio; a slot that is used again has another key.
    pub key: u64,
    /// What it looks like; opaque here.
    pub look: u32,
    /// Where it belongs.
    pub goal: Goal,
    /// Where it appears if it is new, and where the one before it in its slot leaves to.
    pub home: (f32, f32),
    /// Corners of a new way to its goal; `None`: it keeps to the way it is on, or goes straight.
    pub via: Option<&'a [(f32, f32)]>,
}

/// What one drawn request needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Sprite {
    /// Which request or bio; a slot that is used again has another key.
    pub key: u64,
    /// Where it is drawn.
    pub x: f32,
    /// See [`Sprite::x`].
    pub y: f32,
    /// Radius of a plain request here.
    pub radius: f32,
    /// 0 to 1 while it appears or fades.
    pub alpha: f32,
    legs: [(f32, f32); LEGS_MAX],
    leg: u8,
    leg_count: u8,
    seen: u32,
}

const EMPTY: Sprite = Sprite {
    key: 0,
    x: 0.0,
    y: 0.0,
    radius: 0.0,
    alpha: 0.0,
    legs: [(0.0, 0.0); LEGS_MAX],
    leg: 0,
    leg_count: 0,
    seen: 0,
};

impl Sprite {
    /// Moves along its way; true if it moved.
    fn advance(&mut self, dt_s: f32, travel_s: f32) -> bool {
        let mut budget = {
            let left = self.remaining();
            if left < 0.3 {
                let (x, y) = self.goal();
                let moved = (self.x, self.y) != (x, y);
                (self.x, self.y, self.leg) = (x, y, self.leg_count.saturating_sub(1));
                return moved;
            }
            left - (left * (-dt_s / travel_s).exp()).min((left - SPEED_MIN * dt_s).max(0.0))
        };
        while self.leg < self.leg_count && budget > 0.0 {
            let (tx, ty) = self.legs[self.leg as usize];
            let (dx, dy) = (tx - self.x, ty - self.y);
            let distance = dx.hypot(dy);
            if distance <= budget {
                (self.x, self.y) = (tx, ty);
                budget -= distance;
                if self.leg + 1 == self.leg_count {
                    break;
                }
                self.leg += 1;
            } else {
                self.x += dx / distance * budget;
                self.y += dy / distance * budget;
                budget = 0.0;
            }
        }
        true
    }

    fn goal(&self) -> (f32, f32) {
        self.legs[(self.leg_count as usize).saturating_sub(1)]
    }

    fn remaining(&self) -> f32 {
        let mut at = (self.x, self.y);
        let mut sum = 0.0;
        for &next in &self.legs[self.leg as usize..self.leg_count as usize] {
            sum += (next.0 - at.0).hypot(next.1 - at.1);
            at = next;
        }
        sum
    }

    fn set_way(&mut self, via: &[(f32, f32)], goal: (f32, f32)) {
        let via = &via[..via.len().min(LEGS_MAX - 1)];
        self.legs[..via.len()].copy_from_slice(via);
        self.legs[via.len()] = goal;
        (self.leg, self.leg_count) = (0, via.len() as u8 + 1);
    }
}

/// A request that has left the picture and fades.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Its last form of drawing.
    pub sprite: Sprite,
    /// Tag of the caller: what it looked like.
    pub look: u32,
}

/// All sprites, by slot of the scene.
#[derive(Clone, Debug, Default)]
pub struct Sprites {
    list: Vec<Sprite>,
    looks: Vec<u32>,
    leaving: Vec<Leaving>,
    frame: u32,
    moving: bool,
    still: bool,
    travel_ms: f32,
}

impl Sprites {
    /// Begins a frame. With `still`, nothing flies: everything is drawn where it belongs (reduced motion, jumps).
    ///
    /// `travel_ms` is how long a way may take, up to [`TRAVEL_MS`]: where requests stay in a place for a shorter time
    /// on the screen than their ways take, they would always be drawn where they no longer are.
    pub fn begin(&mut self, slots: usize, still: bool, travel_ms: f32) {
        self.travel_ms = travel_ms.clamp(1.0, TRAVEL_MS);
        if self.list.len() < slots {
            self.list.resize(slots, EMPTY);
            self.looks.resize(slots, 0);
        }
        self.frame = self.frame.wrapping_add(1);
        self.moving = false;
        self.still = still;
        if still {
            self.leaving.clear();
        }
    }

    /// Places a live request.
    pub fn place(&mut self, slot: u32, wanted: Wanted<'_>) {
        let slot = slot as usize;
        let Wanted { key, look, goal, home, via } = wanted;
        let (still, frame) = (self.still, self.frame);
        if self.list[slot].key != key {
            let old = self.list[slot];
            if old.key != 0 && self.lingers() && old.seen == frame.wrapping_sub(1) {
                self.leave(old, self.looks[slot], home);
            }
            let (x, y) = if still || self.travel_ms < HURRY_MS { goal.at } else { home };
            let alpha = if still { 1.0 } else { 0.0 };
            self.list[slot] = Sprite { key, x, y, alpha, radius: goal.radius, ..EMPTY };
            self.list[slot].set_way(&[], goal.at);
        }
        let sprite = &mut self.list[slot];
        match via {
            Some(via) if !still && self.travel_ms >= HURRY_MS => sprite.set_way(via, goal.at),
            _ => {
                let last = (sprite.leg_count as usize).saturating_sub(1);
                sprite.legs[last] = goal.at;
            }
        }
        if still {
            (sprite.x, sprite.y) = goal.at;
            (sprite.alpha, sprite.radius) = (1.0, goal.radius);
            sprite.set_way(&[], goal.at);
        }
        let grows = goal.radius - sprite.radius;
        self.moving |= grows != 0.0;
        sprite.radius = if grows.abs() < RADIUS_STEP { goal.radius } else { sprite.radius + grows * 0.3 };
        sprite.seen = frame;
        self.looks[slot] = look;
    }

    /// Ends the placing: what was not placed leaves towards where `leave_to` says. Then everything moves by `dt_ms`.
    pub fn finish(&mut self, dt_ms: f32, leave_to: impl Fn(&Sprite, u32) -> (f32, f32)) {
        let frame = self.frame;
        for slot in 0..self.list.len() {
            let sprite = self.list[slot];
            if sprite.key != 0 && sprite.seen != frame {
                if self.lingers() {
                    self.leave(sprite, self.looks[slot], leave_to(&sprite, self.looks[slot]));
                }
                self.list[slot] = EMPTY;
            }
        }
        let (dt_s, travel_s) = (dt_ms.clamp(0.0, 100.0) / 1e3, self.travel_ms / 1e3);
        let mut moving = self.moving || !self.leaving.is_empty();
        for sprite in self.list.iter_mut().filter(|s| s.key != 0) {
            moving |= sprite.advance(dt_s, travel_s);
            if sprite.alpha < 1.0 {
                sprite.alpha = (sprite.alpha + dt_ms / APPEAR_MS).min(1.0);
                moving = true;
            }
        }
        for leaving in &mut self.leaving {
            leaving.sprite.advance(dt_s, travel_s);
            leaving.sprite.alpha -= dt_ms / FADE_MS;
        }
        self.leaving.retain(|l| l.sprite.alpha > 0.0);
        self.moving = moving;
    }

    fn lingers(&self) -> bool {
        !self.still && self.travel_ms >= HURRY_MS
    }

    fn leave(&mut self, mut sprite: Sprite, look: u32, to: (f32, f32)) {
        if self.leaving.len() < LEAVING_MAX {
            // Whoever is still on a way keeps to its corners.
            if sprite.leg + 1 >= sprite.leg_count {
                sprite.set_way(&[], to);
            } else {
                sprite.legs[sprite.leg_count as usize - 1] = to;
            }
            sprite.alpha = sprite.alpha.max(0.5);
            self.leaving.push(Leaving { sprite, look });
        }
    }

    /// The sprite of a slot.
    pub fn get(&self, slot: u32) -> Option<&Sprite> {
        self.list.get(slot as usize).filter(|s| s.key != 0)
    }

    /// What the sprite of a slot was told to look like.
    pub fn look(&self, slot: u32) -> u32 {
        self.looks.get(slot as usize).copied().unwrap_or(0)
    }

    /// All live ones with their slots and looks.
    pub fn live(&self) -> impl Iterator<Item = (u32, &Sprite, u32)> {
        self.list.iter().enumerate().filter(|(_, s)| s.key != 0).map(|(i, s)| (i as u32, s, self.looks[i]))
    }

    /// Those that fade.
    pub fn leaving(&self) -> &[Leaving] {
        &self.leaving
    }

    /// Whether the next frame would look different even if the scene stood still.
    pub fn moving(&self) -> bool {
        self.moving
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sprites: &mut Sprites, goal: (f32, f32), via: Option<&[(f32, f32)]>, still: bool) -> (f32, f32) {
        sprites.begin(1, still, TRAVEL_MS);
        let goal = Goal { at: goal, radius: 4.0 };
        sprites.place(0, Wanted { key: 7, look: 0, goal, home: (0.0, 0.0), via });
        sprites.finish(16.0, |_, _| (0.0, 0.0));
        sprites.get(0).map(|s| (s.x, s.y)).unwrap_or_default()
    }

    #[test]
    fn a_request_arrives_and_then_rests() {
        let mut sprites = Sprites::default();
        let mut last = 0.0;
        for _ in 0..120 {
            let (x, y) = frame(&mut sprites, (300.0, 0.0), None, false);
            assert!(x >= last && x <= 300.0 && y == 0.0, "it goes straight and never past its place");
            last = x;
        }
        assert_eq!(last, 300.0);
        assert!(!sprites.moving());
    }

    #[test]
    fn the_way_back_goes_round_its_corners() {
        let mut sprites = Sprites::default();
        frame(&mut sprites, (100.0, 0.0), None, true);
        let corners = [(100.0, 50.0), (0.0, 50.0)];
        let mut lowest: f32 = 0.0;
        let mut at = frame(&mut sprites, (0.0, 10.0), Some(&corners), false);
        for _ in 0..300 {
            at = frame(&mut sprites, (0.0, 10.0), None, false);
            lowest = lowest.max(at.1);
        }
        assert_eq!((at, lowest), ((0.0, 10.0), 50.0));
    }

    #[test]
    fn reduced_motion_places_at_once_and_leaves_no_ghosts() {
        let mut sprites = Sprites::default();
        assert_eq!(frame(&mut sprites, (300.0, 40.0), None, true), (300.0, 40.0));
        sprites.begin(1, true, TRAVEL_MS);
        sprites.finish(16.0, |_, _| (0.0, 0.0));
        assert!(sprites.get(0).is_none() && sprites.leaving().is_empty() && !sprites.moving());
    }

    #[test]
    fn who_is_gone_fades_and_is_forgotten() {
        let mut sprites = Sprites::default();
        frame(&mut sprites, (10.0, 0.0), None, true);
        sprites.begin(1, false, TRAVEL_MS);
        sprites.finish(16.0, |_, _| (50.0, 0.0));
        assert_eq!(sprites.leaving().len(), 1);
        for _ in 0..40 {
            sprites.begin(1, false, TRAVEL_MS);
            sprites.finish(16.0, |_, _| (50.0, 0.0));
        }
        assert!(sprites.leaving().is_empty() && !sprites.moving());
    }

    #[test]
    fn a_slot_used_by_another_request_does_not_drag_the_old_one_along() {
        let mut sprites = Sprites::default();
        frame(&mut sprites, (200.0, 0.0), None, true);
        sprites.begin(1, false, TRAVEL_MS);
        let goal = Goal { at: (30.0, 0.0), radius: 4.0 };
        sprites.place(0, Wanted { key: 8, look: 0, goal, home: (20.0, 0.0), via: None });
        sprites.finish(0.0, |_, _| (0.0, 0.0));
        assert_eq!(sprites.get(0).map(|s| s.x), Some(20.0));
        assert_eq!(sprites.leaving().len(), 1);
    }
}
